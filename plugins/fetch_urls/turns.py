"""Whose turn it is to fetch: so many places, of which no client can take the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class Turns:
    """`most` places. An owner gets one more only while more are free than it has, so that others always find some.

    One alone has up to half of them, the next up to half of the rest. Those who wait take turns by owner, each first
    come first served. The owner "" is nobody known: it may have all that is free.
    """

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, dict[anyio.Event, None]] = {}
        """By owner, the one whose turn is next first; none is empty."""

    def resize(self, most: int) -> None:
        """There are so many places from now on; who has one keeps it."""
        self._left += most - self._most
        self._most = most
        self._hand_out()

    def free(self, owner: str) -> bool:
        """Whether the owner would get a place at once."""
        return self._left > (self._held[owner] if owner else 0)

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """A place, waited for."""
        if self.free(owner):
            self._take(owner)
        else:
            await self._wait(owner)
        try:
            yield
        finally:
            self._give_back(owner)

    def _take(self, owner: str) -> None:
        self._left -= 1
        self._held[owner] += 1

    def _give_back(self, owner: str) -> None:
        self._left += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._hand_out()

    async def _wait(self, owner: str) -> None:
        called = anyio.Event()
        self._waiting.setdefault(owner, {})[called] = None
        try:
            await called.wait()
        except BaseException:
            if called.is_set():  # it was given in this very moment
                self._give_back(owner)
            else:
                self._leave(owner, called)
            raise

    def _hand_out(self) -> None:
        while (owner := next(filter(self.free, self._waiting), None)) is not None:
            waiters = self._waiting[owner]
            called = next(iter(waiters))
            self._leave(owner, called)
            if waiters:  # its next turn comes after those of all others
                self._waiting[owner] = self._waiting.pop(owner)
            self._take(owner)
            called.set()

    def _leave(self, owner: str, called: anyio.Event) -> None:
        waiters = self._waiting[owner]
        del waiters[called]
        if not waiters:
            del self._waiting[owner]
