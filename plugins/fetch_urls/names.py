"""The addresses of hosts' names, by the system, which cannot be told to stop: so many threads wait for it, no more."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.to_thread

from plugins.fetch_urls.errors import BusyError

MOST: Final = 64
"""Names that are looked up at the same time, those included for which nobody waits any longer."""


class Names:
    """Looks names up, at most `most` at once; an owner gets one more only while more are free than it has (`Turns`).

    A look-up goes on when its request is over or its client has left: a server of names that does not answer would
    otherwise get one more thread with each request that names one of its hosts and leaves.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: list[str] = []  # threads may take from a list and give to it without a lock
        """The owners of those that go on."""

    async def __call__(self, host: str, owner: str = "") -> list[str]:
        """The addresses of a host's name. Raises OSError and UnicodeError, and BusyError when there are too many."""
        if self._most - len(self._held) <= (self._held.count(owner) if owner else 0):
            raise BusyError("so many hosts are being looked up that its turn did not come; try again")
        self._held.append(owner)
        place = [owner]  # whoever takes it out gives it back: the thread, or we where it never began
        # In threads of its own: names of slow servers must not keep the event loop's few from finding the upstream.
        alone = anyio.CapacityLimiter(1)
        try:
            found = await anyio.to_thread.run_sync(self._look_up, host, place, abandon_on_cancel=True, limiter=alone)
        finally:
            with suppress(IndexError):
                self._held.remove(place.pop())
        return list(dict.fromkeys(str(address[0]) for *_, address in found))

    def _look_up(self, host: str, place: list[str]) -> list[tuple[Any, ...]]:
        try:
            mine = place.pop()
        except IndexError:  # left in the very moment in which it was to begin
            return []
        try:
            return [*socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        finally:
            self._held.remove(mine)
