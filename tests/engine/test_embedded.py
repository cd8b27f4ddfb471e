"""The embedded engine and a gateway of two workers: one engine, and none when the gateway is gone."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.server.gateway import GatewayProcess, running
from tests.server.processes import TINY, engines, wait_until

pytestmark = pytest.mark.engine

TABLES = f"""
[models]
"*" = {{ backend = "embedded" }}
[backends.embedded]
plugins = ["embedded"]
[backends.embedded.embedded]
model = "{TINY}"
context = 2048
"""


@pytest.fixture(autouse=True)
def _engine_here() -> None:
    pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed: pip install 'hookline[local]'")


def count(gateway: GatewayProcess) -> str:
    """The text of an answer, asked on a connection of its own."""
    asked: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Count to 4."}]}
    with anthropic.Anthropic(base_url=gateway.url, api_key="unused", max_retries=0, timeout=60) as client:
        block = client.messages.create(**asked, extra_body={"temperature": 0.0}).content[-1]
    return str(getattr(block, "text", block))


@pytest.mark.parametrize(("number", "loop"), [(signal.SIGTERM, "asyncio"), (signal.SIGKILL, "uvloop")])
def test_two_workers_share_one_engine_that_dies_with_them(tmp_path: Path, number: signal.Signals, loop: str) -> None:
    with running(tmp_path, TABLES, "--workers", "2", "--worker-class", loop) as gateway:
        assert {count(gateway) for _ in range(6)} == {"1, 2, 3, 4"}
        assert len(engines(gateway.process.pid)) == 1
        gateway.end(number)
        wait_until(lambda: not engines(gateway.process.pid))


def test_an_engine_that_died_is_started_again(tmp_path: Path) -> None:
    with running(tmp_path, TABLES, "--workers", "2") as gateway:
        assert count(gateway) == "1, 2, 3, 4"
        (old,) = engines(gateway.process.pid)
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: [new for new in engines(gateway.process.pid) if new != old] != [])
        wait_until(lambda: old not in engines(gateway.process.pid))
        assert count(gateway) == "1, 2, 3, 4"
        assert len(engines(gateway.process.pid)) == 1


def test_a_model_that_cannot_be_loaded_stops_no_gateway(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(Path(TINY).read_bytes()[:100_000])
    tables = TABLES.replace(TINY, str(tmp_path / "broken.gguf"))
    with running(tmp_path, tables) as gateway:
        with pytest.raises(anthropic.InternalServerError, match="did not start"):
            count(gateway)
        wait_until(lambda: not engines(gateway.process.pid))
        assert "failed to load model" in gateway.log.read_text()
