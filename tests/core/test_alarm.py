from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from core.alarm import Alarm


@attrs.define(eq=False)
class Clock:
    """A loop whose time is moved by hand."""

    now: float = 0.0
    timers: list[Timer] = attrs.field(factory=list)
    made: int = 0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        self.made += 1
        self.timers.append(timer := Timer(self, when, callback))
        return timer

    def move(self, to: float) -> None:
        while due := sorted((timer for timer in self.timers if timer.at <= to), key=lambda timer: timer.at):
            self.now = max(self.now, due[0].at)
            self.timers.remove(due[0])
            due[0].callback()
        self.now = to


@attrs.define(eq=False)
class Timer:
    clock: Clock
    at: float
    callback: Callable[[], None]

    def when(self) -> float:
        return self.at

    def cancel(self) -> None:
        self.clock.timers.remove(self)


def alarm() -> tuple[Clock, Alarm, list[float]]:
    clock = Clock()
    rung: list[float] = []
    loop: Any = clock
    made: Alarm = Alarm(loop, lambda: rung.append(clock.now))
    return clock, made, rung


def test_it_rings_once_when_the_time_has_passed() -> None:
    clock, made, rung = alarm()
    made.set(10)
    clock.move(9)
    assert rung == []
    clock.move(30)
    assert rung == [10]
    assert clock.timers == []


def test_clearing_and_none_keep_it_quiet() -> None:
    clock, made, rung = alarm()
    made.set(10)
    made.clear()
    clock.move(20)
    made.set(10)
    made.set(None)
    clock.move(50)
    assert rung == []
    assert clock.timers == []


def test_many_settings_need_few_timers() -> None:
    clock, made, rung = alarm()
    for second in range(100):
        clock.move(second)
        made.set(10)
        made.clear()
    assert clock.made <= 11
    made.set(10)
    clock.move(200)
    assert rung == [109]


def test_an_earlier_time_takes_the_timer_s_place() -> None:
    clock, made, rung = alarm()
    made.set(100)
    made.set(5)
    assert len(clock.timers) == 1
    clock.move(200)
    assert rung == [5]


def test_stopping_takes_the_timer_away() -> None:
    clock, made, rung = alarm()
    made.stop()
    made.set(5)
    made.stop()
    assert clock.timers == []
    clock.move(10)
    assert rung == []


def test_on_a_real_loop() -> None:
    async def run() -> None:
        done = asyncio.Event()
        Alarm(asyncio.get_running_loop(), done.set).set(0.001)
        await done.wait()

    asyncio.run(run())


@pytest.mark.parametrize(("end", "is_set"), [("", True), ("clear", False), ("stop", False)])
def test_it_says_whether_it_will_ring(end: str, is_set: bool) -> None:
    clock: Any = Clock()
    alarm = Alarm(clock, lambda: None)
    alarm.set(10)
    if end:
        getattr(alarm, end)()
    assert alarm.is_set is is_set
