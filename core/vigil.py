"""One attempt's clock: the limits of an upstream's time, and signs of life for a client that waits.

It costs a request one timer, which looks at what has happened since and is set again only when it goes off: a limit
that is not reached costs nothing more.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from core.config import BackendConfig
from core.culprit import FAULTS
from core.errors import UpstreamError


class Vigil:
    """Watches over one attempt, from its making to `end()`. Times are seconds.

    `give_up` is called once, when a limit is reached or `fail` is called; `error` then says why. `ping` shows the
    client life; it says False where there is no way to.
    """

    def __init__(
        self,
        backend: BackendConfig,
        ping_interval: float,
        *,
        give_up: Callable[[], None],
        ping: Callable[[], bool],
    ) -> None:
        self.error: BaseException | None = None
        self.waits = True
        """Whether the upstream is waited for; False while the client is, who takes its time."""
        self._backend = backend
        self._interval = ping_interval
        self._give_up = give_up
        self._ping = ping
        self._loop = asyncio.get_running_loop()
        self._began = self._heard = self._loop.time()
        self._told = math.inf
        self._first = True
        self._timer = self._loop.call_at(self._next(), self._look)

    def accepted(self) -> None:
        """The upstream took the request: from now on the client is shown life."""
        self._told = self._loop.time()

    def heard(self, *, begun: bool, told: bool) -> None:
        """Something came: `begun`, it was a piece of the answer; `told`, the client was given something of it."""
        self._heard = self._loop.time()
        if begun:
            self._first = False
        if told:
            self._told = self._heard

    def fail(self, error: BaseException) -> None:
        """Give the attempt up; the first error counts."""
        if self.error is None:
            self.error = error
            self._give_up()

    def end(self) -> None:
        """The attempt is over."""
        self._timer.cancel()

    def _next(self) -> float:
        """The next moment at which something may be due, also by what may happen until then."""
        known = min(self._silent_until(), self._began + self._backend.total_timeout, self._told + self._interval)
        return min(known, self._loop.time() + min(self._interval, self._backend.read_timeout))

    def _silent_until(self) -> float:
        if self._first:
            return self._began + self._backend.first_timeout
        # A client that takes its time is no silence of the upstream's.
        return (self._heard if self.waits else self._loop.time()) + self._backend.read_timeout

    def _look(self) -> None:
        # A timer may go off a hair early: what is due within a millisecond is due.
        now = self._loop.time() + 0.001
        backend = self._backend
        if self._began + backend.total_timeout <= now:
            self.fail(_timeout(f"the answer was not complete after {backend.total_timeout:g} seconds"))
        elif self._silent_until() <= now:
            first = f"the upstream's answer did not begin within {backend.first_timeout:g} seconds"
            later = f"the upstream was silent for {backend.read_timeout:g} seconds"
            self.fail(_timeout(first if self._first else later))
        if self.error is not None:
            return
        if self._told + self._interval <= now:
            # What waits for the client to take it is sign enough, and more would only be heaped upon it.
            try:
                self._told = self._loop.time() if not self.waits or self._ping() else math.inf
            except FAULTS as fault:  # the writer's own
                self.fail(fault)
                return
        self._timer = self._loop.call_at(self._next(), self._look)


def _timeout(said: str) -> UpstreamError:
    return UpstreamError(said, kind="timeout")
