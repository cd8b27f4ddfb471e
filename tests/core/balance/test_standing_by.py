"""Those who wait in one queue and stand by at others."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import anyio
import pytest

from core.balance.queue import Place, Places
from core.errors import GatewayError
from tests.core.balance.test_queue import settle

pytestmark = pytest.mark.anyio


def taken(places: Places) -> Place:
    place = places.place("before")
    assert place.take()
    return place


class Waiter:
    """Waits at the first of several; `held` is what it got, `error` why it got nothing."""

    def __init__(self, owner: str, several: Sequence[Places]) -> None:
        self.held: Place | None = None
        self.error: GatewayError | None = None
        self.scope = anyio.CancelScope()
        self.places = [each.place(owner) for each in several]

    async def run(self) -> None:
        with self.scope:
            try:
                self.held = await self.places[0].wait(self.places[1:])
            except GatewayError as error:
                self.error = error


async def test_a_place_that_nobody_waits_for_is_taken_elsewhere() -> None:
    one, two = Places(1), Places(1)
    first, second = taken(one), taken(two)
    waiter = Waiter("a", [one, two])
    async with anyio.create_task_group() as group:
        group.start_soon(waiter.run)
        await settle()
        assert (one.waiting, two.waiting) == (1, 0), "it fills one queue alone"
        second.give_back()
        await settle()
        assert waiter.held is waiter.places[1]
    assert (one.waiting, one.held, two.held) == (0, 1, 1)
    first.give_back()
    waiter.places[1].give_back()
    assert (one.held, two.held, two.free) == (0, 0, True)


async def test_who_waits_there_comes_first() -> None:
    one, two = Places(1), Places(1)
    taken(one)
    second, stands_by, waits = taken(two), Waiter("a", [one, two]), Waiter("b", [two])
    async with anyio.create_task_group() as group:
        for each in (stands_by, waits):
            group.start_soon(each.run)
            await settle()
        second.give_back()
        await settle()
        assert (waits.held, stands_by.held) == (waits.places[0], None)
        waits.places[0].give_back()
        await settle()
        assert stands_by.held is stands_by.places[1]


async def test_both_given_in_one_moment_is_one_too_many() -> None:
    one, two = Places(1), Places(1)
    first, second, waiter = taken(one), taken(two), Waiter("a", [one, two])
    async with anyio.create_task_group() as group:
        group.start_soon(waiter.run)
        await settle()
        second.give_back()
        first.give_back()
        await settle()
    assert waiter.held is waiter.places[0]
    assert (one.held, two.held) == (1, 0)


async def test_one_that_is_given_a_place_and_leaves_in_one_moment_leaves_it() -> None:
    one, two = Places(1), Places(1)
    taken(one)
    second, waiter = taken(two), Waiter("a", [one, two])
    task = asyncio.create_task(waiter.run())
    await settle()
    second.give_back()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (waiter.held, one.waiting, two.held) == (None, 0, 0)


async def test_nobody_is_called_to_where_he_is_not_welcome() -> None:
    welcome = False
    one, two = Places(1), Places(2, welcome=lambda: welcome)
    taken(one)
    places, waiter = [taken(two), taken(two)], Waiter("a", [one, two])
    async with anyio.create_task_group() as group:
        group.start_soon(waiter.run)
        await settle()
        places[0].give_back()
        await settle()
        assert (waiter.held, two.held) == (None, 1)
        welcome = True
        places[1].give_back()
        await settle()
        assert waiter.held is waiter.places[1]
    assert two.held == 1


async def test_one_whose_time_is_over_stands_by_no_more() -> None:
    one, two = Places(1, seconds=0.01), Places(1)
    taken(one)
    second, waiter = taken(two), Waiter("a", [one, two])
    await waiter.run()
    assert waiter.error is not None
    assert "within 0.01 seconds" in waiter.error.message
    second.give_back()
    assert (one.waiting, two.held) == (0, 0)


async def turns(number: int) -> None:
    for _ in range(number):
        await anyio.lowlevel.checkpoint()


class Crowd:
    """Guests who go to several places, in any order; some leave while they wait."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.several = [Places(self.chance.randint(1, 3), queue=5) for _ in range(3)]

    async def guest(self, owner: str) -> None:
        mine = self.chance.sample(self.several, 3)
        await turns(self.chance.randrange(8))
        place = mine[0].place(owner)
        if not place.take():
            waits = asyncio.create_task(place.wait([each.place(owner) for each in mine[1:]]))
            if self.chance.random() < 0.3:
                await turns(self.chance.randrange(12))
                waits.cancel()
            try:
                place = await waits
            except (asyncio.CancelledError, GatewayError):
                return
        assert all(each.held <= each.limit for each in self.several)
        await turns(self.chance.randrange(6))
        place.give_back()


@pytest.mark.parametrize("seed", range(8))
async def test_in_a_crowd_no_place_is_lost_or_given_twice(seed: int) -> None:
    crowd = Crowd(seed)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(crowd.guest, f"{number % 4}")
    assert [(each.held, each.waiting, each.free) for each in crowd.several] == [(0, 0, True)] * 3
