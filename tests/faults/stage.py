"""The scripted upstreams, one `hookline serve` in front of them, and a loop in which tests run their clients."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from tests.faults.client import Client
from tests.faults.leaks import KEY, NOWHERE, TOKEN
from tests.faults.script import Script, Upstream, close, hang, reset
from tests.server.serve import Serve, serve

T = TypeVar("T")

PING: Final = 2.0
CLIENT: Final = 1.5
BODY: Final = 3.0
LIMITS: Final = f"""
[server]
ping_interval = {PING}
client_timeout = {CLIENT}
body_timeout = {BODY}
max_concurrent = 300
max_body = 12_000_000
drain_timeout = 1.0
"""
GENEROUS: Final = "first_timeout = 60\nread_timeout = 60\ntotal_timeout = 90\nconnect_timeout = 5"
BACKENDS: Final = {
    "up": GENEROUS,
    "quick": "first_timeout = 1.5\nread_timeout = 1.0\ntotal_timeout = 5\nconnect_timeout = 4",
    "patient": "first_timeout = 5\nread_timeout = 5\ntotal_timeout = 90\nconnect_timeout = 5",
    "full": "first_timeout = 60\nread_timeout = 60\ntotal_timeout = 90\nconnect_timeout = 1",
    "lone": GENEROUS,
    "twin": GENEROUS,
    "closer": GENEROUS,
    "capped": "first_timeout = 60\nread_timeout = 60\ntotal_timeout = 4\nconnect_timeout = 5",
}
"""The backends on the one upstream that reads its requests."""
SETTINGS: Final = f'plugins = ["openai", "stop_scan"]\nkey = "{KEY}"\nheaders = {{ "x-engine-token" = "{TOKEN}" }}\n'
DOORS: Final[dict[str, Script]] = {
    "closes": (close,),
    "resets": (reset,),
    "hangs": (hang,),
    "greets": (b"HTTP/1.1 503 Busy\r\ncontent-length: 5\r\nconnection: close\r\n\r\nbusy\n", close),
}
"""Upstreams that do not read what they are sent."""


@attrs.define(eq=False)
class Stage:
    """`upstream` answers the model `BACKEND.NAME` by the script `NAME`; models `closes.x` … go to the doors."""

    scripts: dict[str, Script]
    upstream: Upstream = attrs.field(init=False)
    served: Serve = attrs.field(init=False)
    begun: dict[str, Future[None]] = attrs.field(init=False, factory=dict)
    """The tests that run, by their names."""
    others: dict[str, Upstream] = attrs.field(init=False, factory=dict)
    """More upstreams, by the name by which `tables` finds their urls."""
    _loop: asyncio.AbstractEventLoop = attrs.field(init=False, factory=asyncio.new_event_loop)

    @property
    def port(self) -> int:
        return self.served.port

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        """The result of a coroutine that runs beside the upstreams."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def check(self) -> None:
        """End the gateway: nothing may be left running, and no fault of its own may be in its log."""
        assert self.served.end() == 0
        assert [line["requests"] for line in self.served.lines("draining")] == [0]
        log = self.served.log.read_text()
        assert "Traceback" not in log
        assert '"event": "fault"' not in log
        assert KEY not in log

    def client(self, buffer: int = 0) -> Client:
        return Client(self.port, buffer)

    def tables(self, urls: dict[str, str]) -> str:
        """What pipelines.toml has below the front."""
        return tables(urls)

    @asynccontextmanager
    async def turn(self, model: str) -> AsyncIterator[None]:
        """Around the request that plays a fault."""
        yield

    @contextmanager
    def open(self, directory: Path, worker: str) -> Iterator[None]:
        thread = threading.Thread(target=self._loop.run_forever, name="upstreams")
        thread.start()
        doors = {name: Upstream({}, script) for name, script in DOORS.items()}
        self.upstream = Upstream(self.scripts)
        upstreams = (self.upstream, *doors.values(), *self.others.values())
        try:
            for upstream in upstreams:
                self.run(upstream.open())
            urls = dict.fromkeys(BACKENDS, self.upstream.url) | {name: door.url for name, door in doors.items()}
            urls |= {name: other.url for name, other in self.others.items()}
            with socket.socket() as refuses, full() as port:
                refuses.bind(("127.0.0.1", 0))
                urls |= {"refuses": f"http://127.0.0.1:{refuses.getsockname()[1]}/v1"}
                urls |= {"full": f"http://127.0.0.1:{port}/v1", "nowhere": f"http://{NOWHERE}:81/v1"}
                urls |= {"plain": tls(doors["greets"].url), "mute": tls(doors["hangs"].url)}
                with serve(directory, "--worker-class", worker, tables=self.tables(urls)) as self.served:
                    yield
        finally:
            for upstream in upstreams:
                self._loop.call_soon_threadsafe(upstream.close)
            self.run(_end_all())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()


def tls(url: str) -> str:
    return url.replace("http:", "https:")


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def full() -> Iterator[int]:
    """A port whose queue is full: it accepts no connection, and refuses none."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        port = listening.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        try:
            yield port
        finally:
            for sock in waiting:
                sock.close()


def tables(urls: dict[str, str]) -> str:
    lines = [LIMITS, "[models]", *(f'"{name}.*" = {{ backend = "{name}" }}' for name in urls)]
    for name, url in urls.items():
        lines += [f"[backends.{name}]", SETTINGS, f'url = "{url}"', BACKENDS.get(name, BACKENDS["quick"])]
    return "\n".join(lines) + "\n"
