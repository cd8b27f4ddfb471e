"""The master: keeps the workers running, and brings them to an end together.

It serves nothing itself, so that it can always see to that. It is there for one worker, too: without it the process
would take some 20 MB less, and a crash would be the end of the service.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any, Final

import attrs
import structlog

from core.serve.child import SIGNALS, Child
from core.serve.settings import ServerError, ServerOptions
from core.serve.signals import Signals
from core.serve.sockets import Doors

FIRST_PAUSE: Final = 0.5
"""Seconds before the first restart of a worker; each one more takes twice as long…"""
LAST_PAUSE: Final = 30.0
"""… up to this."""
STEADY: Final = 60.0
"""Seconds of service after which a worker's restart counts as the first again."""
PATIENCE: Final = 10.0
"""Seconds beyond the time for draining that the workers have to end."""


@attrs.define(eq=False)
class _Place:
    """The place of one worker, which may be taken by one after the other."""

    child: Child | None = None
    restarts: int = 0
    due: float | None = None
    """When the next one is started, by the monotonic clock."""


class Master:
    """Runs the workers. `on_ready` is called once, when all of them serve for the first time, with what they serve."""

    def __init__(
        self,
        options: ServerOptions,
        doors: Doors,
        on_ready: Callable[[Any], None] = lambda _: None,
        *,
        spawn: Callable[[ServerOptions, Doors], Child] = Child,
    ) -> None:
        self._options = options
        self._doors = doors
        self._on_ready = on_ready
        self._spawn = spawn
        self._log = structlog.get_logger()
        self._places = [_Place(due=0.0) for _ in range(options.workers)]
        self._up = False
        self._kill_at: float | None = None
        """When the workers that are left are killed; None: the server is not ending; 0: now, whatever they say."""
        self._failure: str | None = None
        self._began_end = 0.0
        self._hurried = False
        """Whether the workers were told to drain without grace."""

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; one more ends the time of grace, one after it all. SIGHUP: all workers reload.

        Raises ServerError when a worker fails before all have been ready. No worker is left behind in any case.
        """
        with Signals(SIGNALS) as signals:
            try:
                while self._kill_at is None or self._children():
                    self._start_due()
                    self._wait(signals)
                    for number in signals.read():
                        self._signalled(number)
                    self._look()
                    self._kill_late()
            finally:
                self._doors.close()
                self._kill()
        if self._failure is not None:
            raise ServerError(self._failure)

    def _wait(self, signals: Signals) -> None:
        things: list[Any] = [signals, *(each for child in self._children() for each in child.waits)]
        wait(things, self._timeout())

    def _children(self) -> list[Child]:
        return [place.child for place in self._places if place.child is not None]

    def _start_due(self) -> None:
        for place in self._places:
            if place.due is not None and place.due <= time.monotonic():
                place.due = None
                try:
                    place.child = self._spawn(self._options, self._doors)
                except OSError as error:  # no process, no file to be had
                    self._lost(place, f"a worker cannot be started: {error}", why=str(error))

    def _timeout(self) -> float | None:
        """Seconds until there is something to do unasked."""
        times = [place.due for place in self._places if place.due is not None]
        if self._kill_at is not None:
            times.append(self._kill_at)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _signalled(self, number: int) -> None:
        if number == signal.SIGHUP:
            for child in self._children():
                child.reload()
        elif self._kill_at is None:
            self._end()
        elif not self._hurried and time.monotonic() < self._began_end + self._grace():
            self._hurry()
        else:
            self._kill_at = 0.0

    def _look(self) -> None:
        """Take in what the workers say, and who has ended."""
        for place in self._places:
            if place.child is not None and (how := place.child.look()) is not None:
                child, place.child = place.child, None
                self._ended(place, child, how)
        if self._kill_at:
            self._kill_at = self._latest()  # each tells how long it drains when it begins to
        elif (
            self._kill_at is None
            and not self._up
            and all(place.child and place.child.ready_since for place in self._places)
        ):
            self._up = True
            self._on_ready(self._children()[0].told)

    def _ended(self, place: _Place, child: Child, how: str) -> None:
        if self._kill_at is not None:
            return
        if child.ready_since is None:
            failure = child.reason or f"a worker ended with {how} while it started"
            self._lost(place, failure, pid=child.pid, status=how, **({"why": child.reason} if child.reason else {}))
            return
        if time.monotonic() - child.ready_since >= STEADY:
            place.restarts = 0
        self._restart(place, pid=child.pid, status=how)

    def _lost(self, place: _Place, failure: str, **fields: Any) -> None:
        """A worker did not come to serve: at the start that is the end of the server, later it is tried again."""
        if self._up:
            self._restart(place, **fields)
        elif self._kill_at is None:
            self._end(failure)

    def _restart(self, place: _Place, **fields: Any) -> None:
        pause = min(LAST_PAUSE, FIRST_PAUSE * 2.0 ** min(place.restarts, 16))
        place.restarts += 1
        place.due = time.monotonic() + pause
        self._log.error("a worker ended", **fields, restart_in=pause)

    def _end(self, failure: str | None = None) -> None:
        # Our copies of the sockets first: while one is open the system takes connections that nobody will serve.
        if self._grace() and failure is None:
            self._doors.let_go()
        else:
            self._doors.close()
        self._failure = failure
        self._began_end = time.monotonic()
        for place in self._places:
            place.due = None
        for child in self._children():
            child.send(signal.SIGTERM)
        if self._grace() and failure is not None:
            self._hurry()
        self._kill_at = self._latest()

    def _hurry(self) -> None:
        self._hurried = True
        self._began_end = time.monotonic()
        for child in self._children():
            # No second SIGTERM: two that come close together are one.
            child.send(signal.SIGUSR1)

    def _grace(self) -> float:
        return 0.0 if self._hurried else max((child.grace for child in self._children()), default=0.0)

    def _latest(self) -> float:
        drain = max((child.drain for child in self._children()), default=0.0)
        return self._began_end + PATIENCE + self._grace() + drain

    def _kill_late(self) -> None:
        if self._kill_at is not None and self._kill_at <= time.monotonic() and self._children():
            self._log.warning("workers are killed", pids=[child.pid for child in self._children()])
            self._kill()

    def _kill(self) -> None:
        """Kill and reap whoever is left."""
        for place in self._places:
            if place.child is not None:
                place.child.send(signal.SIGKILL)
        for place in self._places:
            while place.child is not None:
                wait([place.child.waits[0]])
                if place.child.look() is not None:
                    place.child = None
