"""A limit of time that is set and cleared for every read, at the price of an assignment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls `ring` once a set time has passed without a `clear`.

    The loop's timer is left running when the alarm is cleared or set anew, and looks again when it fires: a stream of
    chunks makes one timer per limit that passes, not one per chunk.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Whether it will ring."""
        return self._due is not None

    def set(self, seconds: float | None) -> None:
        """Ring in so many seconds; None: never."""
        if seconds is None:
            self._due = None
            return
        self._due = due = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._look)

    def clear(self) -> None:
        """Do not ring."""
        self._due = None

    def stop(self) -> None:
        """Never ring again: the timer is taken away, and with it what it refers to."""
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._loop.time() < self._due:
            self._timer = self._loop.call_at(self._due, self._look)
            return
        self._due = None
        self._ring()
