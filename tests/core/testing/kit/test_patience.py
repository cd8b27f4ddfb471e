"""Patience is used up by waiting and by working, and not by standing in the queue for a processor."""

from __future__ import annotations

import time

import anyio
import pytest

from core.testing.kit.patience import Patience, waited


def test_who_waits_for_what_never_comes_is_told() -> None:
    mine = Patience(0.02)

    async def work() -> None:
        with mine.within("nothing came"):
            await anyio.sleep_forever()

    with pytest.raises(AssertionError, match=r"nothing came within 0\.02 seconds"):
        anyio.run(mine.watched, work)


def test_what_ends_in_time_gives_its_value_and_what_raises_raises() -> None:
    mine = Patience()

    async def work() -> int:
        with mine.within("it did not end"):
            await anyio.lowlevel.checkpoint()
        return 7

    async def fails() -> None:
        raise LookupError("voice")

    assert anyio.run(mine.watched, work) == 7
    with pytest.raises(LookupError, match="voice"):
        anyio.run(mine.watched, fails)


def test_a_thread_that_gets_no_processor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step takes as long as it likes; the clock of the thread's work tells that it had little of it."""
    mine, steps, work_done = Patience(1.0), 0, 0.0

    def clock() -> float:
        nonlocal work_done
        work_done += 0.002
        return work_done

    async def short(_: float) -> None:
        nonlocal steps
        steps += 1
        if steps == 300:
            done.set()
        await anyio.lowlevel.checkpoint()

    async def work() -> None:
        with mine.within("it did not end"):
            await done.wait()

    monkeypatch.setattr("core.testing.kit.patience.time.thread_time", clock)
    monkeypatch.setattr("core.testing.kit.patience.anyio.sleep", short)
    done = anyio.Event()
    anyio.run(mine.watched, work)
    assert steps >= 300


def test_the_waiting_of_a_thread() -> None:
    assert waited(lambda: time.sleep(0.02)) >= 0.015
