from __future__ import annotations

import asyncio

import anyio
import pytest

from core.cut import Cut

pytestmark = pytest.mark.anyio


async def test_a_block_is_ended_from_outside_and_the_task_goes_on() -> None:
    reached: list[str] = []
    with Cut() as cut:
        asyncio.get_running_loop().call_soon(cut.now)
        await anyio.sleep_forever()
        reached.append("never")
    await asyncio.sleep(0)
    assert (reached, cut.cut) == ([], True)


async def test_a_block_that_is_over_is_not_cut() -> None:
    with Cut() as cut:
        pass
    cut.now()
    await asyncio.sleep(0)
    assert not cut.cut


async def test_an_exception_of_the_block_s_own_passes() -> None:
    with pytest.raises(ZeroDivisionError), Cut():
        raise ZeroDivisionError


@pytest.mark.parametrize("which", ["inner", "outer"])
async def test_each_block_swallows_its_own_cut_alone(which: str) -> None:
    told: list[str] = []
    with Cut() as outer:
        with Cut() as inner:
            asyncio.get_running_loop().call_soon(inner.now if which == "inner" else outer.now)
            await anyio.sleep_forever()
        told.append("between")
    assert told == (["between"] if which == "inner" else [])


async def test_two_cuts_at_once_end_both() -> None:
    told: list[str] = []
    with Cut() as outer:
        with Cut() as inner:
            loop = asyncio.get_running_loop()
            loop.call_soon(inner.now)
            loop.call_soon(outer.now)
            await anyio.sleep_forever()
        told.append("between")
    await asyncio.sleep(0)
    assert told == []


@pytest.mark.parametrize("also_cut", [False, True])
async def test_a_cancellation_from_elsewhere_is_not_swallowed(also_cut: bool) -> None:
    cut = Cut()

    async def run() -> None:
        with cut:
            await anyio.sleep_forever()

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    if also_cut:
        cut.now()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_it_is_cut_once() -> None:
    with Cut() as cut:
        loop = asyncio.get_running_loop()
        loop.call_soon(cut.now)
        loop.call_soon(cut.now)
        await anyio.sleep_forever()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
