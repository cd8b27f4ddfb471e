"""What is measured side by side: the floor, hookline in several settings, and a peer if one is named."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import attrs

from tests.bench.floor import UPSTREAM
from tests.bench.process import Process

OPERATOR_PLUGINS: Final = ("access_log", "metrics", "tracing")
"""The front plugins that operators add: with all of them that are installed, hookline is measured once more."""

OPERATOR_TABLES: Final = ""
"""Their options, as text of pipelines.toml."""

FLOOR: Final = "floor"
PLAIN: Final = "vllm"
WRAPPED: Final = "vllm + think_tags + stop_scan"
OPERATED: Final = "vllm + operator plugins"
PEER: Final = "peer"
DIRECT: Final = "direct"
"""The scripted upstream spoken to without anything between."""

_CONFIG: Final = """\
[pipelines.messages]
paths = ["/v1"]
plugins = [{front}]

[models]
"*" = {{ backend = "bench" }}

[backends.bench]
plugins = [{back}]
url = "{url}"

{tables}
"""


@attrs.frozen
class Subject:
    """A server to be measured; `start` runs it on a port, in a directory for its files."""

    name: str
    plugins: tuple[str, ...] = ()
    front: tuple[str, ...] = ()
    tables: str = ""
    command: str = ""

    def start(self, port: int, upstream: int, core: int, home: Path) -> Process:
        """The process, not ready yet."""
        url = f"http://127.0.0.1:{upstream}/v1"
        log = home / f"{port}.log"
        if self.command:
            words = shlex.split(self.command.format(port=port, upstream=url))
            return Process(words, core, log, {UPSTREAM: url})
        bind = f"127.0.0.1:{port}"
        if self.name == FLOOR:
            return Process([*_hypercorn(bind), "tests.bench.floor:app"], core, log, {UPSTREAM: url})
        config = home / f"{port}.toml"
        front = _quoted("anthropic", "models", *self.front)
        config.write_text(_CONFIG.format(front=front, back=_quoted(*self.plugins), url=url, tables=self.tables))
        hookline = Path(sys.executable).with_name("hookline")
        return Process([str(hookline), "serve", str(config), "--bind", bind], core, log)


def subjects(peer: str = "") -> list[Subject]:
    """All of them; `peer` is a command with {port}, and {upstream} or the variable BENCH_UPSTREAM for its upstream."""
    found = [
        Subject(FLOOR),
        Subject(PLAIN, ("vllm",)),
        Subject(WRAPPED, ("vllm", "think_tags", "stop_scan")),
    ]
    installed = entry_points(group="hookline.plugins").names
    operators = tuple(name for name in OPERATOR_PLUGINS if name in installed)
    if operators:
        found.append(Subject(OPERATED, ("vllm",), operators, OPERATOR_TABLES))
    if peer:
        found.append(Subject(PEER, command=peer))
    return found


def _quoted(*names: str) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _hypercorn(bind: str) -> list[str]:
    """Hypercorn on the loop and with the limits that `hookline serve` has too."""
    settings = "--workers 1 --worker-class uvloop --backlog 1024 --keep-alive 75 --bind"
    return [sys.executable, "-m", "hypercorn", *settings.split(), bind]
