"""The body of an answer, as httpx reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx

from core.http1.connection import Connection


class AnswerBody(httpx.AsyncByteStream):
    """The pieces of a body as they come, one for each network read (or for all that came since the last piece).

    The connection is given to `done` when the body is read to its end, and closed when it is not: by `aclose`, by an
    error, by a cancellation. `seconds` limits each wait.
    """

    def __init__(self, connection: Connection, seconds: float | None, done: Callable[[Connection], None]) -> None:
        self._seconds = seconds
        self._done = done
        self._connection: Connection | None = connection
        self._first = b""
        if connection.answer.complete:
            # All of a small answer comes with its head: the next request need not wait for the reader.
            self._first = connection.answer.take()
            self._end()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        while (connection := self._connection) is not None:
            try:
                piece = await connection.read(self._seconds)
            except BaseException:
                self._end()
                raise
            if connection.answer.complete:
                self._end()
            if piece:
                return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Let go of the connection; of an unread answer the rest is not wanted."""
        self._first = b""
        self._end()

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._done(connection)
