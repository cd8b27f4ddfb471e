"""What happens to the server during the soak: five reloads, and a worker that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.server.gateway import FRONT
from tests.server.serve import Serve
from tests.soak.crowd import Crowd
from tests.soak.plan import STREAMED
from tests.soak.watch import Log, clients_of, stopped

LIMITS: Final = """
[server]
ping_interval = 1
client_timeout = 10
drain_timeout = 6
max_concurrent = 5000
"""
PATIENT: Final = "first_timeout = 120\nread_timeout = 120\nconnect_timeout = 60\n"
QUICK: Final = "first_timeout = 5\nread_timeout = 5\nconnect_timeout = 60\n"
KEY: Final = 'plugins = ["vllm"]\nkey = "sk-upstream-secret"\n'
# What is remembered of messages grows by design, up to a bound of its own; here memory is to be flat.
CENSUS: Final = """
[pipelines.soak]
paths = ["/soak"]
plugins = ["anthropic", "models", "tests.soak.census:Census"]
anthropic = { remember = 0 }
"""


def tables(url: str, *, late: bool = False, changed: bool = False) -> str:
    """The file below its front; `late` is the backend that comes and goes."""
    backends = {"up": PATIENT + ("total_timeout = 1000\n" if changed else ""), "quick": QUICK, "down": PATIENT}
    backends[STREAMED] = PATIENT + 'stream = "always"\n'
    if late:
        backends["late"] = PATIENT
    models = "".join(f'"{name}.*" = {{ backend = "{name}" }}\n' for name in backends)
    urls = {name: "http://127.0.0.1:9/v1" if name == "down" else url for name in backends}
    parts = [f'[backends.{name}]\n{KEY}url = "{urls[name]}"\n{limits}' for name, limits in backends.items()]
    return f"{CENSUS}{LIMITS}[models]\n{models}{''.join(parts)}"


async def until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Look again and again. Raises AssertionError after so many seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not true():
        assert loop.time() < deadline, f"{what}: not within {seconds:g} seconds"
        await asyncio.sleep(0.1)


class Trouble:
    """Makes it, step by step, each at its part of the time; `done` says what happened, `killed_at` when (by the loop)."""

    def __init__(self, served: Serve, log: Log, crowd: Crowd, url: str) -> None:
        self.done: list[str] = []
        self.killed_at = 0.0
        self._served = served
        self._log = log
        self._crowd = crowd
        self._url = url
        self._file = served.log.with_name("pipelines.toml")

    async def run(self, seconds: float) -> None:
        """All of it, over so many seconds."""
        steps = {
            0.28: self._add,
            0.40: self._change,
            0.52: self._spoil,
            0.64: self._remove,
            0.76: self._ask,
            0.88: self._kill,
        }
        loop = asyncio.get_running_loop()
        began = loop.time()
        for part, step in steps.items():
            await asyncio.sleep(max(0.0, began + part * seconds - loop.time()))
            before = loop.time()
            await step()
            self.done.append(f"{step.__name__.strip('_')} after {before - began:.0f} s, {loop.time() - before:.1f} s")

    async def _add(self) -> None:
        await self._reload("reloaded", tables(self._url, late=True))
        self._crowd.planner.late = True

    async def _change(self) -> None:
        await self._reload("reloaded", tables(self._url, late=True, changed=True))

    async def _spoil(self) -> None:
        await self._reload("reload failed", tables(self._url, late=True).replace("url =", "ulr ="))

    async def _remove(self) -> None:
        self._crowd.planner.late = False
        await asyncio.sleep(0.5)  # requests that were planned before are on their way
        await self._reload("reloaded", tables(self._url, changed=True))

    async def _ask(self) -> None:
        workers = self._served.workers()
        before = self._log.times("reloaded", workers)
        self._served.process.send_signal(signal.SIGHUP)
        await until(lambda: self._log.times("reloaded", workers) > before, "all workers reload when asked")

    async def _kill(self) -> None:
        victim = self._served.workers()[0]
        self.killed_at = asyncio.get_running_loop().time()
        # Stopped first, so that its connections can be counted: these may break, and no others.
        os.kill(victim, signal.SIGSTOP)
        while not stopped(victim):
            pass
        self._crowd.killed(clients_of(victim, self._served.port))
        os.kill(victim, signal.SIGKILL)
        await until(lambda: victim not in self._served.workers(), "the killed worker is gone")
        await until(lambda: len(self._served.workers()) == 2, "another one takes its place")

    async def _reload(self, event: str, text: str) -> None:
        workers = self._served.workers()
        before = self._log.times(event, workers)
        _replace(self._file, FRONT + text)
        await until(lambda: self._log.times(event, workers) > before, f"all workers say {event!r}")


def _replace(file: Path, text: str) -> None:
    """Change it as editors do: a new one takes its place."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)
