"""The master's side of one worker process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Final

from core.lean import import_structlog
from core.serve.settings import ServerOptions
from core.serve.sockets import Doors

SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
DRAIN: Final = 30.0
"""Seconds that a worker may drain that has not told its own limit."""


class Child:
    """A worker from its start until it is reaped."""

    def __init__(self, options: ServerOptions, doors: Doors) -> None:
        self.ready_since: float | None = None
        """When it began to serve, by the monotonic clock."""
        self.drain = DRAIN
        """Seconds that it takes at most to drain."""
        self.grace = 0.0
        """Seconds in which it goes on serving before it drains."""
        self.told: Any = None
        """What it serves, in its own words."""
        self.reason = ""
        """Why it failed, in one line, as far as it said."""
        self._reload = False
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe(duplex=False)
        self._process = spawning.Process(target=_work, args=(options, doors.sockets, theirs), daemon=True)
        # The tracker, which comes with the first process, would unblock the signals again.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid or 0

    @property
    def waits(self) -> Sequence[Any]:
        """What `multiprocessing.connection.wait` reports when the worker says something or ends."""
        return (self._process.sentinel,) if self._pipe.closed else (self._process.sentinel, self._pipe)

    def look(self) -> str | None:
        """Take in what the worker said; how it ended, in words, once it has: it is reaped then."""
        while not self._pipe.closed and self._pipe.poll():
            try:
                self._heard(*self._pipe.recv())
            except (EOFError, OSError):
                self._pipe.close()
        if self._process.is_alive():
            return None
        self._process.join()
        self._pipe.close()
        code = self._process.exitcode or 0
        return _signal_name(-code) if code < 0 else f"exit status {code}"

    def reload(self) -> None:
        """Have it read the configuration again, as soon as it can."""
        if self.ready_since is None:
            self._reload = True
        else:
            self.send(signal.SIGHUP)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; once it is reaped there is nothing to do."""
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def _heard(self, word: str, *values: Any) -> None:
        if word == "failed":
            self.reason = " ".join(str(values[0]).split())
            return
        self.drain, self.grace = values[:2]
        if word == "ready":
            self.told = values[2]
            self.ready_since = time.monotonic()
            if self._reload:
                self.send(signal.SIGHUP)


def _work(options: ServerOptions, sockets: Sequence[socket.socket], pipe: Connection) -> None:
    import_structlog()
    from core.serve.worker import work  # noqa: PLC0415  what serves is none of the master's business

    work(options, sockets, pipe)


def _signal_name(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
