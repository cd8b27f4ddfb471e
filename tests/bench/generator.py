"""The load: some kept-alive connections, each sending its next request when the answer to the last one has ended.

A bare protocol: of an answer it reads the status, where it ends, and when its first token came.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final, cast

import attrs

from tests.bench.answers import FIRST

PATH: Final = "/v1/messages"
_HEAD: Final = (
    b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nanthropic-version: 2023-06-01\r\n"
    b"x-api-key: sk-bench\r\nauthorization: Bearer sk-bench\r\ncontent-length: %d\r\n\r\n%b"
)
_PATIENCE: Final = 300.0
"""Seconds that a run may take."""

_FIRST: Final = FIRST.encode()
_CHUNKED_END: Final = b"\r\n0\r\n\r\n"


def request(body: bytes, path: str = PATH) -> bytes:
    """The bytes of an HTTP request."""
    return _HEAD % (path.encode(), len(body), body)


@attrs.define
class Outcome:
    """What a run gave; times in seconds, one for each request."""

    wall: float = 0.0
    times: list[float] = attrs.field(factory=list)
    firsts: list[float] = attrs.field(factory=list)
    last: bytes = b""
    """The last answer, head and all, where it was asked for."""


class Generator:
    """One run of `requests` requests on `connections` connections."""

    def __init__(self, port: int, data: bytes, *, connections: int, requests: int, keep: bool = False) -> None:
        self._port = port
        self.data = data
        self._connections = min(connections, requests)
        self.left = requests
        self._missing = requests
        self.keep = keep
        self.outcome = Outcome()
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._opening: set[asyncio.Task[None]] = set()

    async def run(self) -> Outcome:
        """All requests. Raises RuntimeError for an answer that is not a whole 200, TimeoutError when all takes too long."""
        begin = time.perf_counter()
        for _ in range(self._connections):
            self.open()
        async with asyncio.timeout(_PATIENCE):
            await self._done
        self.outcome.wall = time.perf_counter() - begin
        return self.outcome

    def open(self) -> None:
        """Another connection, in the background."""
        task = asyncio.ensure_future(self._open())
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: Connection(self), "127.0.0.1", self._port)
        except OSError as error:
            self.fail(f"no connection: {error}")

    def note(self, begin: float, first: float) -> None:
        """One answer has ended."""
        now = time.perf_counter()
        self.outcome.times.append(now - begin)
        if first:
            self.outcome.firsts.append(first - begin)
        self._missing -= 1
        if not self._missing and not self._done.done():
            self._done.set_result(None)

    def fail(self, why: str) -> None:
        """End the run."""
        if not self._done.done():
            self._done.set_exception(RuntimeError(why))


class Connection(asyncio.Protocol):
    """One connection of a run."""

    def __init__(self, run: Generator) -> None:
        self._run = run
        self._busy = False
        self._transport: asyncio.Transport | None = None
        self._reset()

    def _reset(self) -> None:
        self._head = b""
        self._left = -1
        self._tail = b""
        self._first = 0.0
        self._begun = False
        self._close = False
        self._refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one, but not by class
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """A server may close between two answers (Hypercorn does after 1,000 requests), not within one."""
        if self._busy:
            self._run.fail(f"the connection broke within an answer: {exc}; {self._head[:500]!r}")

    def data_received(self, data: bytes) -> None:
        """Look for the first token and for the end."""
        if self._run.keep:
            self._run.outcome.last += data
        if not self._first and _FIRST in data:
            self._first = time.perf_counter()
        if self._begun:
            if self._refused:
                self._head += data
            self._body(data)
            return
        self._head += data
        head, found, rest = self._head.partition(b"\r\n\r\n")
        if found:
            self._begun = True
            self._read_head(head.lower())
            self._body(rest)

    def _read_head(self, head: bytes) -> None:
        self._refused = not head.startswith(b"http/1.1 200")
        _, found, length = head.partition(b"\r\ncontent-length:")
        self._left = int(length.split(b"\r\n", 1)[0]) if found else -1
        self._close = b"\r\nconnection: close" in head

    def _body(self, data: bytes) -> None:
        if self._left >= 0:
            self._left -= len(data)
            ended = self._left <= 0
        else:
            self._tail = (self._tail + data)[-len(_CHUNKED_END) :] if len(data) < 7 else data[-7:]
            ended = self._tail == _CHUNKED_END
        if ended:
            self._busy = False
            if self._refused:
                self._run.fail(f"the answer is {self._head[:1000]!r}")
                return
            self._run.note(self._begin, self._first)
            self._next()

    def _next(self) -> None:
        assert self._transport is not None
        if self._run.left <= 0:
            self._transport.close()
            return
        if self._close or self._transport.is_closing():
            self._transport.close()
            self._run.open()
            return
        self._run.left -= 1
        self._reset()
        self._busy = True
        self._begin = time.perf_counter()
        self._transport.write(self._run.data)
