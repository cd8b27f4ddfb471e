"""What a call has opened, to be closed with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

import anyio

from core.chat.completion import Chunk


class ClosableChunks(Protocol):
    """Lists of chunks, one list per network read, from something that must be closed: an async generator is one."""

    def __aiter__(self) -> AsyncIterator[list[Chunk]]:
        """Itself."""

    def __anext__(self) -> Awaitable[list[Chunk]]:
        """The next list. Raises StopAsyncIteration at the end, UpstreamError for what went wrong."""

    def aclose(self) -> Awaitable[None]:
        """Let go of the connection, at once where the answer has not ended: that tells the engine to stop."""


class Opened(list[ClosableChunks]):
    """All of one call, also what several tries of it opened."""

    async def aclose(self, *, broken: bool = True) -> None:
        """Close them, the last one first; the others too, whatever one of them raises.

        With `broken` also when the client has left: that is what tells the engine to stop.
        """
        if broken:
            with anyio.CancelScope(shield=True):
                await self._close()
        else:
            await self._close()

    async def _close(self) -> None:
        while self:
            try:
                await self.pop().aclose()
            except BaseException:
                await self.aclose()
                raise
