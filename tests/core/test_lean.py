from __future__ import annotations

import subprocess
import sys

import pytest

from core.lean import import_structlog

LEAN = "from core.lean import import_structlog; import_structlog(); import sys; "


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def test_structlog_comes_without_rich_and_rich_can_still_come() -> None:
    code = "print('structlog' in sys.modules, 'rich' in sys.modules); import rich.text; print(rich.text.Text('x'))"
    assert run(LEAN + code).split() == ["True", "False", "x"]


def test_what_is_here_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rich = object()
    monkeypatch.setitem(sys.modules, "rich", rich)
    import_structlog()
    assert sys.modules["rich"] is rich


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        ("core.cli.command", "hypercorn h2 uvloop rich"),
        ("core.serve.child, core.serve.worker, core.asgi", "typer rich"),
    ],
)
def test_a_process_brings_what_it_needs(modules: str, unwanted: str) -> None:
    tests = "pytest hypothesis pypdf aiohttp core.testing opentelemetry prometheus_client"
    code = f"import {modules}; print(*[name for name in {f'{unwanted} {tests}'.split()} if name in sys.modules])"
    assert run(LEAN + code) == ""
