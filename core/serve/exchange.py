"""One request and its answer over HTTP/1: the two ends that ASGI gives an application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from core.serve.answers import CONTINUE, Answer, Headers
from core.serve.heads import Head
from core.serve.writer import Writer

HELD: Final = 256 * 1024
"""Bytes of a request's body that wait for the application; beyond, the socket is not read."""


class Owner(Protocol):
    """The connection, for an exchange."""

    @property
    def closing(self) -> bool:
        """Whether no other request may follow on it."""

    @property
    def common(self) -> Headers:
        """The server's own headers of every answer."""

    async def answered(self) -> None:
        """The whole answer has been written."""

    async def lost(self) -> None:
        """The client turned out to be gone."""

    def resume(self) -> None:
        """There is room again for the request's body."""


class Exchange:
    """`receive` and `send` are the application's; `feed` and `leave` are for whoever reads the client."""

    def __init__(self, head: Head, writer: Writer, owner: Owner) -> None:
        self.answer = Answer(head.method, old=head.version == "1.0", close=head.close)
        self.gone = False
        """Whether what the application sends goes nowhere any more."""
        self.over = False
        """Whether the whole answer went its way to the end, and the owner knows."""
        self.held = 0
        """Bytes of the body that wait for the application."""
        self._writer = writer
        self._write = writer.transport.write
        self._owner = owner
        self._expects = head.expects
        self._pieces: list[bytes] = []
        self._all_came = head.length == 0
        self._all_told = False
        self._news = asyncio.Event()
        self._tell: Callable[[], None] | None = None

    def feed(self, piece: bytes, complete: bool) -> None:
        """A piece of the body has come; the last one when it is `complete`."""
        if piece:
            self._pieces.append(piece)
            self.held += len(piece)
        self._all_came = complete
        self._news.set()

    def leave(self) -> None:
        """The client has left, or is not to get any more."""
        self.gone = True
        self._news.set()
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def when_gone(self, tell: Callable[[], None]) -> None:
        """Call this when the client leaves before it has its whole answer; at once if it has left."""
        self._tell = tell
        if self.gone:
            self.leave()

    async def receive(self) -> dict[str, Any]:
        """ASGI's: the body as it comes, in whatever has gathered; then, and only then, that the client is gone."""
        while True:
            if self._pieces or (self._all_came and not self._all_told):
                return self._take()
            if self.gone or self.answer.done:
                return {"type": "http.disconnect"}
            if self._expects:
                self._expects = False
                if not self.answer.begun:
                    self._writer.say(CONTINUE)
            self._news.clear()
            await self._news.wait()

    async def send(self, event: Any) -> None:
        """ASGI's. Once the client is gone it does nothing. Raises ValueError and RuntimeError for what is no answer."""
        if self.gone:
            return
        if event["type"] != "http.response.body":
            self._start(event)
            return
        more = event.get("more_body", False)
        wire = self.answer.piece(event.get("body", b""), more)
        if wire:
            try:
                self._write(wire)
                if self._writer.full:
                    await self._writer.drain()
            except (ConnectionError, RuntimeError):  # a closed transport of uvloop's raises the latter
                await self._owner.lost()
        if not more and not self.gone:
            self.over = True
            self._tell = None  # it may hold what holds this
            self._news.set()
            await self._owner.answered()

    def _start(self, event: Any) -> None:
        if event["type"] != "http.response.start":
            raise RuntimeError(f"no such event over HTTP/1: {event['type']}")
        if self._owner.closing:
            self.answer.close = True
        self.answer.start(int(event["status"]), event.get("headers", ()), self._owner.common)

    def _take(self) -> dict[str, Any]:
        pieces = self._pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._expects = False
        self._all_told = self._all_came
        if self.held > HELD:
            self._owner.resume()
        self.held = 0
        return {"type": "http.request", "body": body, "more_body": not self._all_came}
