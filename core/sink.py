"""The bytes of one answer on their way to the server: ASGI's `send`, and the clock of a client that takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final

PIECE: Final = 64 * 1024
"""Bytes of which a client must take so many within the limit."""

Event = MutableMapping[str, Any]
Send = Callable[[Event], Awaitable[None]]


class Sink:
    """Sends an answer; a body that is complete at once gets its content-length.

    `since` is when the client began to take what is being sent (the loop's time), 0 when nothing is; with `close` its
    connection ends with the answer. `end` ends the request.
    """

    def __init__(self, send: Send, end: Callable[[], None]) -> None:
        self.gone = False
        self.close = False
        self.since = 0.0
        self._whole = False
        self._send = send
        self._end = end
        self._head: Event | None = None
        self._time = asyncio.get_running_loop().time

    def give_up(self) -> None:
        """Nothing reaches the client any more: end its request."""
        self.gone = True
        self._end()

    def leave(self) -> None:
        """The server says that the client has left.

        Hypercorn says so of every client that is about to have its whole answer, too. What is still done then goes on:
        the upstream's last bytes are read, so that its connection can be kept.
        """
        if not self._whole:
            self.give_up()

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep status and headers for the first bytes."""
        extra = [(b"connection", b"close")] if self.close else []
        self._head = {"type": "http.response.start", "status": status, "headers": [*headers, *extra]}

    async def send(self, data: bytes, more: bool) -> None:
        """Send bytes, after the head if it is still here."""
        self.since = self._time()
        try:
            if self._head is not None:
                if not more:
                    self._head["headers"].append((b"content-length", b"%d" % len(data)))
                head, self._head = self._head, None
                await self._send(head)
            if len(data) > PIECE:
                data = await self._send_most(data)
            self._whole = not more
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
        except OSError:
            self.gone = True
            raise
        self.since = 0.0

    async def _send_most(self, data: bytes) -> bytes:
        """All but the last piece: a client that takes a large answer bit by bit does not stall. The last piece."""
        last = (len(data) - 1) // PIECE * PIECE
        for start in range(0, last, PIECE):
            piece = data[start : start + PIECE]
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            self.since = self._time()
        return data[last:]
