"""The way of an answer's bytes to the client."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, Protocol
from urllib.parse import quote

import attrs

from core.culprit import note
from core.deltas import Delta
from core.hookspecs import Answer
from core.raised import ANYTHING, raise_fault
from core.record import Record
from core.request import HTTPRequest
from core.translation import Translation, no_blame

_BREAK: Final = re.compile(rb"[\r\n]")
BACKEND_HEADER: Final = b"x-hookline-backend"
"""The header that says which backend served, or was the last to fail."""
_LAST_WORDS: Final = (
    b'{"type":"error","error":{"type":"api_error","message":"the gateway failed on this request; its log has the '
    b'details"},"request_id":"%b"}'
)
"""What a client gets when its own protocol's writer is broken: the envelope of the Messages API, the one most know."""


class Sink(Protocol):
    """Where an answer's bytes go. `gone` is whether the client has left: nothing reaches it any more."""

    gone: bool

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Status and headers, once, before the first bytes."""

    async def send(self, data: bytes, more: bool) -> None:
        """Bytes of the body; `more` False ends it."""


@attrs.define
class Outlet:
    """The way to the client: an answer's writer on a sink."""

    sink: Sink
    record: Record
    answer: Answer | None = None
    translators: Translation | None = None
    started: bool = False
    ended: bool = False
    backend: str = ""
    """Who serves, as the header BACKEND_HEADER tells; "" while it is not known."""
    blame: Callable[[BaseException, str, str], None] = no_blame
    _pinging: asyncio.Task[None] | None = attrs.field(init=False, default=None)

    @property
    def shown(self) -> bool:
        """Whether the client has been given something, or soon will be: a ping on its way."""
        return self.started or self._pinging is not None

    async def feed(self, deltas: Sequence[Delta]) -> bool:
        """Deltas for the answer; whether any bytes went out."""
        if not deltas or self.answer is None:
            return False
        self.record.note(deltas)
        data = self.say("feed", deltas)
        if self.started and self._pinging is None:
            if data:
                await self._send(data, last=False)
        else:
            await self.write(data)
        return bool(data)

    async def finish(self, deltas: Sequence[Delta]) -> None:
        """The last deltas and the end."""
        if self.answer is not None:
            self.record.note(deltas)
            await self.write(self.say("feed", deltas) + self.say("finish"), last=True)

    def ping(self) -> bool:
        """Show the client life, in a task of its own: this one waits for the upstream. False where there is no way."""
        data = self.say("ping") if self.answer is not None else b""
        if data and (self._pinging is None or self._pinging.done()):
            self._pinging = asyncio.get_running_loop().create_task(self._send_ping(data))
        return bool(data)

    def drop_ping(self) -> None:
        """End one that is still on its way: the client has left."""
        if self._pinging is not None:
            self._pinging.cancel()

    async def _send_ping(self, data: bytes) -> None:
        with suppress(OSError):  # the request's own task will meet the same
            await self._out(data, last=False)

    def say(self, method: Literal["feed", "ping", "finish", "fail"], *arguments: Any) -> bytes:
        """What the writer's method gives; what it raises is noted with `blame`."""
        try:
            data = getattr(self.answer, method)(*arguments)
            if not isinstance(data, bytes):
                raise TypeError(f"gave {type(data).__name__}, not bytes")
        except ANYTHING as error:
            self.blame(error, "serialize", method)
            raise_fault(error)
        return data

    def head(self) -> tuple[int, tuple[tuple[bytes, bytes], ...]]:
        """The writer's status and headers, if they are such; else a fault that is noted with `blame`."""
        try:
            return _head_of(self.answer)
        except ANYTHING as error:
            self.blame(error, "serialize", "headers")
            raise_fault(error)

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Send; status and headers go out before the first bytes, not earlier."""
        if not (data or last) or (self.answer is None and not self.started):
            return
        if self._pinging is not None:
            # A ping may hold the message's start, so it goes whole and first, whatever becomes of this task.
            await asyncio.shield(self._pinging)
            self._pinging = None
        await self._out(data, last=last)

    async def _out(self, data: bytes, *, last: bool) -> None:
        if not self.started and self.answer is not None:
            self.record.status, headers = self.head()
            if self.backend:
                headers = (*headers, (BACKEND_HEADER, _value_of(self.backend)))
            self.started = True
            self.record.first = time.monotonic()
            await self.sink.start(self.record.status, headers)
        await self._send(data, last=last)

    async def _send(self, data: bytes, *, last: bool) -> None:
        self.ended = last
        try:
            await self.sink.send(data, not last)
        except OSError as error:
            note(error, "sending to the client")
            raise

    async def last_words(self, http: HTTPRequest) -> None:
        """The end of an answer whose writer failed: the bare minimum while nothing was sent, else nothing more."""
        if not self.started:
            self.started = True
            self.record.status = 500
            headers = [(b"content-type", b"application/json"), (b"request-id", http.id.encode())]
            await self.sink.start(500, headers)
            await self.sink.send(_LAST_WORDS % http.id.encode(), False)
        else:
            await self.sink.send(b"", False)


def _value_of(name: str) -> bytes:
    """A backend's name as a header's value: what cannot stand in one is written as in a URL."""
    if name.isascii() and name.isprintable():
        return name.encode()
    return quote(name, safe=" ", errors="replace").encode()


def _head_of(answer: Any) -> tuple[int, tuple[tuple[bytes, bytes], ...]]:
    status, headers = answer.status, tuple(answer.headers)
    if type(status) is not int or not 200 <= status <= 599:
        raise TypeError(f"status is {status!r}, not that of an answer")
    for name, value in headers:
        if not (isinstance(name, bytes) and isinstance(value, bytes)) or _BREAK.search(name + value):
            raise TypeError(f"the header {name!r} is no pair of bytes on one line")
    return status, headers
