from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import attrs
import pytest

from core.serve.idle import IdleClock


@attrs.define(eq=False)
class Loop:
    """A loop whose time is set by hand, and that may be a little early."""

    now: float = 100.0
    timers: list[Timer] = attrs.field(factory=list)
    made: int = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> Timer:
        self.made += 1
        timer = Timer(self, when, call)
        self.timers.append(timer)
        return timer

    def run(self, until: float, *, early: float = 0.0) -> None:
        while due := [timer for timer in self.timers if timer.when - early <= until]:
            first = min(due, key=lambda timer: timer.when)
            self.timers.remove(first)
            self.now = max(self.now, first.when - early)
            early = 0.0
            first.call()
        self.now = until


@attrs.frozen(eq=False)
class Timer:
    loop: Loop
    when: float
    call: Callable[[], None]

    def cancel(self) -> None:
        self.loop.timers.remove(self)


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def closed() -> list[float]:
    return []


@pytest.fixture
def clock(loop: Loop, closed: list[float]) -> IdleClock:
    real = cast("asyncio.AbstractEventLoop", cast("Any", loop))
    return IdleClock(real, 10.0, lambda: closed.append(loop.now))


def test_it_runs_out_once(loop: Loop, clock: IdleClock, closed: list[float]) -> None:
    clock.begin()
    assert clock.runs
    loop.run(500.0)
    assert closed == [110.0]
    assert not clock.runs


def test_requests_set_it_back_and_make_no_timer(loop: Loop, clock: IdleClock, closed: list[float]) -> None:
    clock.begin()
    for _ in range(100):
        loop.run(loop.now + 0.0625)
        clock.stop()
        clock.begin()
    assert loop.made == 1
    loop.run(500.0)
    assert closed == [116.25]
    assert loop.made == 2


def test_a_request_that_takes_its_time_stops_it(loop: Loop, clock: IdleClock, closed: list[float]) -> None:
    clock.begin()
    clock.stop()
    assert not clock.runs
    loop.run(200.0)
    assert closed == []
    clock.begin()
    loop.run(500.0)
    assert closed == [210.0]


def test_a_timer_that_comes_early_is_set_again(loop: Loop, clock: IdleClock, closed: list[float]) -> None:
    clock.begin()
    loop.run(109.999, early=0.001)
    assert closed == []
    loop.run(500.0)
    assert closed == [110.0]


def test_after_the_end_nothing_is_left(loop: Loop, clock: IdleClock, closed: list[float]) -> None:
    clock.begin()
    clock.cancel()
    clock.cancel()
    assert loop.timers == []
    assert closed == []
