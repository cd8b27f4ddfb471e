"""What goes to one client, and its end when the client does not take it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress


class Writer(asyncio.StreamWriter):
    """A writer that aborts the connection when the client takes nothing for `stall` seconds."""

    stall: float
    full = False
    """Whether more waits for the client than should: whoever writes shall `drain`."""

    def say(self, data: bytes) -> None:
        """Write a few bytes, to whoever is still there."""
        with suppress(RuntimeError):  # uvloop's, of a closed transport
            self.transport.write(data)

    async def drain(self) -> None:
        """Wait until there is room. Raises ConnectionError when the client stalls or is gone."""
        if self.transport.get_write_buffer_size() == 0:
            await super().drain()
        else:
            await self._moving(super().drain)

    async def wait_closed(self) -> None:
        """Wait until the client has taken the last byte, or stalls."""
        await self._moving(super().wait_closed)

    async def _moving(self, wait: Callable[[], Coroutine[None, None, None]]) -> None:
        while True:
            before = self.transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(self.stall):
                    return await wait()
            except TimeoutError:
                if self.transport.get_write_buffer_size() >= before:
                    self.transport.abort()
                    raise ConnectionAbortedError("the client takes nothing") from None
