"""A limit of time that holds for code that blocks its thread, too."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import attrs

AGAIN: Final = 0.5
"""Seconds until the next look, also for code that blocks once more while it is torn down."""
IDLE: Final = 0.05
"""The share of such a time in which the thread worked, below which it blocks."""
PATIENT: Final = 10
"""How many times the limit there is for a thread that works, but slowly: others have the processor."""


class TooLongError(BaseException):
    """The time was up. No `Exception`, so that no plugin's handler takes it for one of its own."""


@attrs.define
class Clock:
    """Whether the time is up: the thread has worked for half of it, or it stands still, or it is over many times."""

    seconds: float
    began: float = attrs.field(factory=time.monotonic)
    work: float = attrs.field(factory=time.thread_time)
    looked: float = attrs.field(factory=time.monotonic)
    worked: float = attrs.field(factory=time.thread_time)

    def up(self) -> bool:
        """Whether it is, seen from the last look."""
        now, work = time.monotonic(), time.thread_time()
        idle = work - self.worked < IDLE * (now - self.looked)
        self.looked, self.worked = now, work
        passed = now - self.began
        if passed < self.seconds:
            return False
        return idle or work - self.work >= self.seconds / 2 or passed >= PATIENT * self.seconds


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError inside the block after so many seconds, and behind it if it was swallowed there.

    On a machine that gives the thread little time to work it is later. A gateway takes whatever comes out of a plugin
    for the plugin's fault, and goes on. Only the main thread of a system with `setitimer` can interrupt what blocks;
    anywhere else there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    passed = False
    clock = Clock(seconds)

    def late(_: int, __: FrameType | None) -> None:
        nonlocal passed
        passed = clock.up() or passed
        if passed:
            raise TooLongError

    again = min(AGAIN, seconds / 4)
    before = signal.signal(signal.SIGALRM, late)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds - again, again)
    try:
        yield
    except Exception as error:
        if passed:
            raise TooLongError from error
        raise
    else:
        if passed:
            raise TooLongError
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if timer[0]:
            signal.setitimer(signal.ITIMER_REAL, *timer)
