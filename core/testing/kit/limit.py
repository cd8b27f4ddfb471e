"""A limit of time that holds for code that blocks its thread, too."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

AGAIN: Final = 0.5
"""Seconds until the next interruption, for code that blocks once more while it is torn down."""


class TooLongError(BaseException):
    """The time was up. No `Exception`, so that no plugin's handler takes it for one of its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError inside the block after so many seconds, and behind it if it was swallowed there.

    A gateway takes whatever comes out of a plugin for the plugin's fault, and goes on.
    Only the main thread of a system with `setitimer` can interrupt what blocks; anywhere else there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    passed = False

    def late(_: int, __: FrameType | None) -> None:
        nonlocal passed
        passed = True
        raise TooLongError

    before = signal.signal(signal.SIGALRM, late)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
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
