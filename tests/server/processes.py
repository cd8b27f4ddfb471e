"""Processes as tests see them: engines found in /proc, and a wait for something to become true."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

TINY = str(Path(__file__).parent.parent / "models" / "tiny-counter-f16.gguf")
SCRIPT = "plugins/embedded/engine.py"


def engines(master: int) -> list[int]:
    """The embedded engines of the gateway with this process id; one that is dead but not reaped counts, too."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if len(command) > 4 and command[2].endswith(SCRIPT) and command[4] == str(master):
            found.append(int(entry.name))
    return found


def wait_until(true: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Look again and again until it is true; fails after so many seconds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true within {seconds} s"
        time.sleep(0.01)
