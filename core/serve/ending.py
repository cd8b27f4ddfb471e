"""A worker's end: the time of grace, in which it still serves all, and then the draining."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from typing import Final, Protocol

END: Final = 9.5
"""Seconds after the limit for draining at which the process ends whatever still runs; less than the master waits."""

Tell = Callable[..., None]
"""Says something to the master: `ready` or `drains` with the seconds of draining and of grace, the first also with what
is served; `failed` with why."""


class Leaving(Protocol):
    """An application that can be told to end. All is called in the event loop."""

    @property
    def drain_grace(self) -> float:
        """Seconds in which it is still to be sent requests, though it no longer asks for them."""

    @property
    def drain_timeout(self) -> float:
        """Seconds that running requests have once it drains."""

    def begin_grace(self) -> None:
        """Say to whoever asks that no more requests are wanted, and serve all that come."""

    def begin_drain(self) -> None:
        """Finish the running requests within `drain_timeout`; may be called again."""


class Ending:
    """Brings a worker to its end; `drains` is set when it is to take nothing new.

    `certainly` is told seconds after which the process must be over, whatever hangs.
    """

    def __init__(self, application: Leaving, tell: Tell, certainly: Callable[[float], None]) -> None:
        self.drains = asyncio.Event()
        self._application = application
        self._tell = tell
        self._certainly = certainly
        self._grace: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The grace begins, or the draining where there is none; may be called again."""
        if self._grace is not None or self.drains.is_set():
            return
        # Whoever starts another server in the place of a master that was killed wants its address now.
        grace = 0.0 if _is_orphan() else self._application.drain_grace
        limit = self._application.drain_timeout
        self._tell("drains", limit, grace)
        self._certainly(grace + limit + END)
        if grace:
            self._application.begin_grace()
            self._grace = asyncio.get_running_loop().call_later(grace, self.hurry)
        else:
            self.hurry()

    def hurry(self) -> None:
        """The draining begins now; may be called again."""
        if self.drains.is_set():
            return
        if self._grace is not None:
            self._grace.cancel()
        self.drains.set()
        self._application.begin_drain()


def _is_orphan() -> bool:
    master = multiprocessing.parent_process()
    return master is not None and not master.is_alive()
