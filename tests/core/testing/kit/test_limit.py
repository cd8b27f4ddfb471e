"""The limit of time interrupts what blocks its thread."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import pytest

from core.testing.kit.limit import Clock, TooLongError, time_limit


def test_a_blocked_thread_is_interrupted() -> None:
    with pytest.raises(TooLongError), time_limit(0.05):
        threading.Event().wait()


def test_in_time_nothing_happens_and_all_is_as_before() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(5):
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_another_thread_has_no_limit() -> None:
    ran = []

    def work() -> None:
        with time_limit(0.001):
            ran.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ran == [1]


def test_an_interruption_that_is_swallowed_is_raised_behind() -> None:
    with pytest.raises(TooLongError), time_limit(0.05), suppress(TooLongError):
        threading.Event().wait()


def test_an_interruption_that_is_taken_for_a_fault_is_one() -> None:
    with pytest.raises(TooLongError), time_limit(0.05):
        _faulty()


def _faulty() -> None:
    try:
        threading.Event().wait()
    except TooLongError as error:
        raise ValueError from error


def test_a_thread_that_works_but_slowly_has_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks of a machine that gives the thread a tenth of the time: at the limit it has worked too little for it."""
    now = [0.0]
    monkeypatch.setattr("core.testing.kit.limit.time.monotonic", lambda: now[0])
    monkeypatch.setattr("core.testing.kit.limit.time.thread_time", lambda: now[0] / 10)
    clock = Clock(10.0, 0.0, 0.0, 0.0, 0.0)
    told = []
    for now[0] in (9.5, 10.0, 30.0, 49.0, 51.0):
        told.append(clock.up())
    assert told == [False, False, False, False, True]


def test_a_thread_that_stands_still_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("core.testing.kit.limit.time.monotonic", lambda: now[0])
    monkeypatch.setattr("core.testing.kit.limit.time.thread_time", lambda: 1.0)
    clock = Clock(10.0, 0.0, 1.0, 0.0, 1.0)
    now[0] = 9.5
    assert not clock.up()
    now[0] = 10.0
    assert clock.up()
