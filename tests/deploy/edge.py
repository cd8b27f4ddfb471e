"""The stage: scripted upstreams, two `hookline serve` in front of them, HAProxy in front of these."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from tests.deploy.haproxy import CLIENTS, NUMBERS, ONE, TLS, TWO, HAProxy, free_ports, running
from tests.faults.fault import DONE, FINISH, SSE, chunk, completion, reply
from tests.faults.script import Script, Upstream, close, hang, pause, wait
from tests.server.processes import wait_until
from tests.server.serve import Serve, serve

T = TypeVar("T")

GRACE: Final = 3.0
"""Seconds; the example finds out in less than two that a replica leaves."""
WORDS: Final = tuple(f"word{number} " for number in range(12))
TEXT: Final = "".join(WORDS)
_SAID: Final[tuple[bytes, ...]] = tuple(chunk(content=word) for word in WORDS)
KEPT: Final = {
    "role": "assistant",
    "reasoning": "Well.",
    "reasoning_details": [{"type": "reasoning.text", "text": "Well.", "signature": "c2lnbmVk"}],
}
"""What an engine says with its answer and wants back with the next request."""
SCRIPTS: Final[dict[str, Script]] = {
    "short": (SSE, b"".join(_SAID), FINISH, DONE, close),
    "long": (SSE, *(step for said in _SAID for step in (said, pause(0.08))), FINISH, DONE, close),
    "whole": (pause(0.2), *reply(200, completion(TEXT))),
    "held": (SSE, _SAID[0], wait, b"".join(_SAID[1:]), FINISH, DONE, close),
    "thinks": reply(200, {"choices": [{"index": 0, "message": {**KEPT, "content": TEXT}, "finish_reason": "stop"}]}),
    "silent": (hang,),
    "endless": (SSE, _SAID[0], hang),
}
TABLES: Final = f"""
[server]
drain_grace = {GRACE}
drain_timeout = 10
[anthropic]
seal_key = {{ env = "HOOKLINE_SEAL" }}
[models]
"*" = {{ backend = "up" }}
"thinks*" = {{ backend = "thinker" }}
[backends]
up = {{ plugins = ["openai"], url = "URL" }}
thinker = {{ plugins = ["openrouter"], url = "URL" }}
"""


@attrs.define(eq=False)
class Edge:
    """All of it; `replicas` are those that run."""

    folder: Path
    ports: dict[int, int] = attrs.field(factory=lambda: free_ports(CLIENTS, ONE, TWO, NUMBERS, TLS))
    upstream: Upstream = attrs.field(factory=lambda: Upstream(SCRIPTS))
    replicas: dict[str, Serve] = attrs.field(factory=dict)
    haproxy: HAProxy = attrs.field(init=False)
    _loop: asyncio.AbstractEventLoop = attrs.field(factory=asyncio.new_event_loop)
    _stack: ExitStack = attrs.field(factory=ExitStack)
    _started: int = 0

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 30) -> T:
        """The result of a coroutine that runs beside the upstreams."""
        return self.begin(work).result(seconds)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def start(self, name: str) -> None:
        """Start this replica on its port, and wait until HAProxy knows."""
        self._started += 1
        folder = self.folder / f"{name}{self._started}"
        folder.mkdir()
        port = self.ports[{"one": ONE, "two": TWO}[name]]
        tables = TABLES.replace("URL", self.upstream.url)
        options = ("--workers", "2" if name == "one" else "1", "--bind", f"127.0.0.1:{port}")
        made = serve(folder, *options, tables=tables, environ={"HOOKLINE_SEAL": "the same for all"})
        self.replicas[name] = self._stack.enter_context(made)
        self.haproxy.wait_for(name, "UP")

    def kill(self, name: str) -> float:
        """End every process of it at once, as a machine that fails does; the monotonic time at which nobody listens."""
        gone = self.replicas.pop(name)
        os.killpg(gone.process.pid, signal.SIGKILL)
        gone.process.wait()
        wait_until(gone.refuses)  # its workers take their time to die, and the system takes connections for them
        return time.monotonic()

    def end(self, name: str) -> Serve:
        """Have it end in order, and wait for that."""
        gone = self.replicas.pop(name)
        assert gone.end() == 0
        return gone

    def asked(self) -> Counter[str]:
        """How often the upstream got each request, by the marker in its model's name."""
        return Counter({model: len(exchanges) for model, exchanges in self.upstream.exchanges.items()})

    @contextmanager
    def open(self) -> Iterator[None]:
        thread = threading.Thread(target=self._loop.run_forever, name="upstreams")
        thread.start()
        try:
            self.run(self.upstream.open())
            with self._stack, running(self.folder, self.ports) as self.haproxy:
                self.start("one")
                self.start("two")
                yield
        finally:
            self._loop.call_soon_threadsafe(self.upstream.close)
            self.run(_end_all())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
