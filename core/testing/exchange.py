"""`Exchange`: one request that a mock upstream saw, and how it ended; and the reader that makes exchanges of bytes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Literal

import anyio
import attrs

from core.testing.sockets import Connection


@attrs.define(eq=False)
class Exchange:
    """One request as it arrived; `headers` have lower-case names, times are `time.monotonic()` seconds.

    `outcome` is "" while the reply is on its way, then "served", or "closed" when the peer closed the connection first.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    began_at: float = attrs.field(factory=time.monotonic)
    outcome: Literal["", "served", "closed"] = ""
    ended_at: float | None = None
    _ended: anyio.Event = attrs.field(factory=anyio.Event, repr=False)

    @property
    def json(self) -> Any:
        """The body's JSON value; raises ValueError when it is none."""
        return json.loads(self.body)

    def end(self, outcome: Literal["served", "closed"]) -> None:
        """Note how it ended; only the first word counts."""
        if not self.outcome:
            self.outcome, self.ended_at = outcome, time.monotonic()
            self._ended.set()

    async def peer_closed(self) -> float:
        """Wait until the peer closed this exchange; when that was. AssertionError when it read the whole reply."""
        await self._ended.wait()
        if self.outcome != "closed":
            raise AssertionError(f"{self.method} {self.path} was served whole: the peer did not close it")
        return self.ended_at or 0.0

    async def served(self) -> float:
        """Wait until the whole reply was sent; when that was. AssertionError when the peer closed it before."""
        await self._ended.wait()
        if self.outcome != "served":
            raise AssertionError(f"the peer closed {self.method} {self.path} before the reply was sent")
        return self.ended_at or 0.0


class RequestReader:
    """Reads the requests of one connection, one after another."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._buffer = b""
        self._at_end = False

    async def next(self) -> Exchange | None:
        """The next request; None when the peer closed the connection."""
        head = await self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        body = await self._body(headers)
        return None if body is None else Exchange(method, path, headers, body)

    async def closed(self) -> None:
        """Wait until the peer closes; requests that come meanwhile are kept."""
        while await self._more():
            pass

    async def _body(self, headers: Mapping[str, str]) -> bytes | None:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._exactly(int(headers.get("content-length", "0")))
        body = b""
        while True:
            size = await self._until(b"\r\n")
            chunk = None if size is None else await self._exactly(int(size.split(b";")[0], 16))
            if chunk is None or await self._until(b"\r\n") is None:
                return None
            if not chunk:
                return body
            body += chunk

    async def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._buffer:
            if not await self._more():
                return None
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    async def _exactly(self, size: int) -> bytes | None:
        while len(self._buffer) < size:
            if not await self._more():
                return None
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    async def _more(self) -> bool:
        if not self._at_end:
            data = await self._connection.receive()
            self._buffer += data
            self._at_end = not data
        return not self._at_end
