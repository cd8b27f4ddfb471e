"""The clock of a connection without a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class IdleClock:
    """Calls `close` once the connection has been idle for `seconds` on end.

    Its one timer is left to run while requests come and go, and set anew when it finds that there was one: to cancel
    and to make a timer, as Hypercorn does a task, costs a good part of what a small request does.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, close: Callable[[], None]) -> None:
        self._loop = loop
        self._seconds = seconds
        self._close = close
        self._due: float | None = None
        """When it is called, by the loop's clock; None: a request runs."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def runs(self) -> bool:
        """Whether the connection is idle."""
        return self._due is not None

    def begin(self) -> None:
        """The connection is idle, from now on."""
        self._due = self._loop.time() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._look)

    def stop(self) -> None:
        """It is not."""
        self._due = None

    def cancel(self) -> None:
        """It is over."""
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
        else:
            self._due = None
            self._close()
