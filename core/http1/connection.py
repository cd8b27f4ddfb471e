"""One connection, kept alive: bytes in, bytes out, limits of time and of memory."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Final, cast

import httpx

from core.alarm import Alarm
from core.http1.answer import Answer
from core.http1.taken import bytes_taken

READ_AHEAD: Final = 64 * 1024
"""Bytes of a body that may wait for a slow reader before the connection is read no further."""

_STALE: Final = 1.0
"""Seconds after a request in which a kept connection that dies had been closed before (see `Connection.stale`)."""


class Connection(asyncio.Protocol):
    """A connection and the exchange that is on it. `closed` is its end, from either side; `lost` is then called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, lost: Callable[[Connection], None]) -> None:
        self.answer = Answer()
        self.closed = False
        self.last = False
        """Whether the exchange on it is its last; whoever sends the request clears it once all is written."""
        self._loop = loop
        self._lost = lost
        self._exchanges = 0
        self._begun = 0.0
        self._died_soon = False
        self._before: int | None = None
        self.taken = False
        """Whether the server's system is known to have taken the request on which the connection was lost: the server
        may have worked on it, also where the connection is `stale` by its time."""
        self._idle = True
        self._error: httpx.TransportError | None = None
        self._alarm = Alarm(loop, self._ring)
        self._waiter: asyncio.Future[bool] | None = None
        self._writable = True
        self._paused = False
        self._transport: asyncio.Transport
        self._poll: select.poll | None = None

    # --- an exchange ---

    def begin(self, *, bodyless: bool) -> None:
        """Take the connection for a request; it is the last one until `last` is taken back."""
        self._alarm.clear()
        self.answer.begin(bodyless=bodyless)
        self._exchanges += 1
        if self._exchanges > 1:
            self._before = bytes_taken(self._transport)
        self._begun = self._loop.time()
        self._idle = False
        self.last = True

    def write(self, data: bytes) -> None:
        """Send, or keep for sending."""
        if self._open():
            self._transport.write(data)

    async def drain(self, seconds: float | None) -> None:
        """Wait until most is sent, or an answer begins. Raises httpx.WriteTimeout, WriteError, RemoteProtocolError."""
        while not self._writable and not self.answer.started and not self.closed:
            if not await self._wait(seconds):
                raise httpx.WriteTimeout("the server did not take the request in time")
        if self.closed and not self.answer.started:
            if isinstance(self._error, httpx.RemoteProtocolError):
                raise self._error
            raise httpx.WriteError("the connection broke while the request was sent") from self._error

    async def head(self, seconds: float | None) -> None:
        """Wait for the answer's head. Raises httpx.ReadTimeout, ReadError or RemoteProtocolError."""
        while not self.answer.started:
            await self._more(seconds)

    async def read(self, seconds: float | None) -> bytes:
        """The next piece of the body, all that has come; b"" at the end. Raises as `head`, after what had come."""
        answer = self.answer
        while not answer.size and not answer.complete:
            await self._more(seconds)
        piece = answer.take()
        self._resume()
        return piece

    # --- between exchanges ---

    @property
    def keepable(self) -> bool:
        """Whether the exchange is over, on both ways, and left the connection in order."""
        over = self._open() and not self.last and self.answer.reusable
        return over and not self._transport.get_write_buffer_size()

    @property
    def stale(self) -> bool:
        """Whether the server had closed this kept connection before it could read the request.

        That cannot be known, but a server which closes an idle connection while a request is on its way is heard of
        within a round trip, and never says a byte. One that dies later had the request, and may have worked on it.
        """
        return self._died_soon and self._exchanges > 1 and not self.answer.touched

    def keep(self, seconds: float | None) -> None:
        """Let it wait for the next request; after so many seconds it is closed."""
        self._idle = True
        self._resume()
        self._alarm.set(seconds)

    def usable(self) -> bool:
        """Whether an idle connection is still open, what the loop has not read yet included."""
        if not self._open():
            return False
        if self._poll is None:
            if not hasattr(select, "poll"):
                return True
            self._poll = select.poll()
            self._poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return self._poll.poll(0) == []

    def close(self) -> None:
        """Close at once: what is not sent is not sent any more, and who waits gets httpx.ReadError."""
        self._close(httpx.ReadError("the connection was closed"))

    # --- what the loop calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def data_received(self, data: bytes) -> None:
        """One network read."""
        if self._idle or self.closed:
            self.close()
            return
        answer = self.answer
        try:
            answer.feed(data)
        except httpx.RemoteProtocolError as error:
            self._close(error)
            return
        if answer.size > READ_AHEAD and not self._paused and not answer.complete:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """The server sends no more; nothing that it has not read can have an answer."""
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end, with the reason if it was no orderly one."""
        if self.closed:
            return
        error: httpx.TransportError | None = None
        try:
            if exc is None:
                self.answer.feed_eof()
            else:
                error = httpx.ReadError(str(exc))
                error.__cause__ = exc
        except httpx.RemoteProtocolError as early:
            error = early
        self._died_soon = self._loop.time() - self._begun < _STALE
        if self._died_soon and self._before is not None:
            taken = bytes_taken(self._transport)
            # A socket that was closed acknowledges nothing; behind its close a reset would be a broken pipe.
            self.taken = taken is not None and (taken > self._before or isinstance(exc, ConnectionResetError))
        self._close(error)

    def pause_writing(self) -> None:
        """Much is waiting to be sent."""
        self._writable = False

    def resume_writing(self) -> None:
        """Little is."""
        self._writable = True
        self._wake()

    # --- waiting ---

    def _open(self) -> bool:
        # Between its noticing the end and telling us, uvloop raises at every touch; TLS forgets that it was closed.
        return not self.closed and not self._transport.is_closing()

    def _resume(self) -> None:
        if self._paused and self._open():
            self._paused = False
            self._transport.resume_reading()

    async def _more(self, seconds: float | None) -> None:
        if self._error is not None:
            raise self._error
        if not await self._wait(seconds):
            raise httpx.ReadTimeout("the server was silent for too long")

    async def _wait(self, seconds: float | None) -> bool:
        """Wait for any news; False when none came in time."""
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._waiter = waiter
        self._alarm.set(seconds)
        try:
            return await waiter
        finally:
            self._waiter = None
            self._alarm.clear()

    def _wake(self, *, news: bool = True) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(news)

    def _ring(self) -> None:
        if self._idle:
            self.close()
        else:
            self._wake(news=False)

    def _close(self, error: httpx.TransportError | None) -> None:
        if self.closed:
            return
        self.closed = True
        self._error = error
        self._poll = None
        self._alarm.stop()
        self.answer.forget()
        self._transport.abort()
        self._wake()
        self._lost(self)
