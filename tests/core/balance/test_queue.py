from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from core.balance.queue import Place, Places
from core.errors import GatewayError
from tests.core.balance.clocks import Clock

pytestmark = pytest.mark.anyio


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(6):
        await anyio.lowlevel.checkpoint()


class Guest:
    """A request that wants a place and holds it until it is told to go."""

    def __init__(self, owner: str, tasks: TaskGroup, places: Places, served: list[str] | None = None) -> None:
        self.owner = owner
        self.error: GatewayError | None = None
        self.inside = self.over = False
        self.scope = anyio.CancelScope()
        self.go = anyio.Event()
        self._served = served
        tasks.start_soon(self._run, places)

    async def _run(self, places: Places) -> None:
        with self.scope:
            try:
                async with places.place(self.owner):
                    self.inside = True
                    if self._served is not None:
                        self._served.append(self.owner)
                    await self.go.wait()
            except GatewayError as error:
                self.error = error
        self.inside, self.over = False, True


async def test_without_a_limit_there_is_always_room() -> None:
    places = Places()
    async with places.place("a"), places.place("a"):
        assert (places.held, places.waiting, places.free) == (2, 0, True)
    assert places.held == 0


async def test_the_last_place_is_free_until_it_is_taken() -> None:
    places = Places(1)
    assert places.free
    async with places.place("a"):
        assert (places.free, places.held) == (False, 1)
    assert (places.free, places.held) == (True, 0)


async def test_a_place_can_be_taken_without_waiting() -> None:
    places = Places(1)
    place, other = places.place("a"), places.place("b")
    assert place.take()
    assert not other.take()
    place.give_back()
    assert other.take()
    other.give_back()
    with pytest.raises(RuntimeError, match="given back once"):
        other.give_back()


async def test_owners_take_turns() -> None:
    places, served = Places(1), list[str]()
    async with anyio.create_task_group() as tasks:
        guests = []
        for owner in "aaaabbc":
            guests.append(Guest(owner, tasks, places, served))
            await settle()
        while not all(guest.over for guest in guests):
            next(guest for guest in guests if guest.inside).go.set()
            await settle()
    assert "".join(served) == "aabcaba"


async def test_a_full_queue_refuses_and_says_when_to_come() -> None:
    clock = Clock()
    places = Places(2, 1, clock=clock)
    first = places.place()
    assert first.take()
    clock.now += 12
    first.give_back()
    async with anyio.create_task_group() as tasks:
        guests = [Guest("a", tasks, places) for _ in range(3)]
        await settle()
        with pytest.raises(GatewayError) as caught:
            await places.place("b").__aenter__()
        assert places.waiting == 1
        for guest in guests:
            guest.go.set()
    error = caught.value
    assert (error.kind, error.status, error.retry_after, error.should_retry) == ("overloaded", 529, 12, True)
    assert error.message == "the model's server is busy: it serves 2 at once, and 1 more wait; come again in 12 s"


async def test_where_nobody_may_wait_the_next_is_refused_at_once() -> None:
    places = Places(1, 0)
    async with places.place("a"):
        with pytest.raises(GatewayError, match="nobody may wait; come again in 1 s"):
            await places.place("b").__aenter__()
    assert (places.held, places.waiting) == (0, 0)


async def test_nobody_waits_longer_than_the_time() -> None:
    places = Places(1, 5, 0.01)
    async with places.place("a"):
        with pytest.raises(GatewayError, match=r"no place became free within 0\.01 seconds") as caught:
            await places.place("b").__aenter__()
        assert (places.held, places.waiting) == (1, 0)
    assert (caught.value.status, caught.value.retry_after) == (529, 1)


@pytest.mark.parametrize(("held", "told"), [(0.1, 1), (4.2, 5), (1000, 60)])
async def test_the_wait_that_is_told_has_its_bounds_in_whole_seconds(held: float, told: float) -> None:
    clock = Clock()
    places = Places(1, clock=clock)
    place = places.place()
    assert place.take()
    clock.now += held
    place.give_back()
    assert places.retry_after() == told


async def test_the_mean_goes_with_the_times() -> None:
    clock = Clock()
    places = Places(1, clock=clock)
    for seconds in [10] + [50] * 30:
        place = places.place()
        assert place.take()
        clock.now += seconds
        place.give_back()
    assert places.retry_after() == 50


async def test_nobody_fills_the_queue_against_all_others() -> None:
    places = Places(1, 3)
    async with anyio.create_task_group() as tasks:
        greedy = [Guest("a", tasks, places) for _ in range(4)]
        await settle()
        modest = Guest("b", tasks, places)
        await settle()
        assert [guest.over for guest in greedy] == [False, False, False, True]
        assert greedy[3].error is not None
        assert (greedy[3].error.status, places.waiting, modest.over) == (529, 3, False)
        second = Guest("b", tasks, places)
        await settle()
        assert second.error is not None
        assert places.waiting == 3
        for guest in (*greedy, modest):
            guest.go.set()
    assert (places.held, places.waiting) == (0, 0)


async def test_a_waiter_that_leaves_gives_its_place_in_the_queue_back() -> None:
    places = Places(1, 1)
    async with anyio.create_task_group() as tasks:
        holder, waiter = Guest("a", tasks, places), Guest("a", tasks, places)
        await settle()
        assert places.waiting == 1
        waiter.scope.cancel()
        await settle()
        assert (places.waiting, waiter.over) == (0, True)
        holder.go.set()
    assert places.held == 0


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_a_place_given_in_the_moment_of_leaving_goes_on(cancelled_first: bool) -> None:
    places = Places(1)
    async with anyio.create_task_group() as tasks:
        leaves, stays = Guest("b", tasks, places), Guest("c", tasks, places)
        place = places.place("a")
        assert place.take()
        await settle()
        acts: list[Callable[[], None]] = [leaves.scope.cancel, place.give_back]
        for act in acts if cancelled_first else reversed(acts):
            act()
        await settle()
        assert (leaves.over, leaves.inside, stays.inside, places.held) == (True, False, True, 1)
        stays.go.set()
    assert (places.held, places.waiting) == (0, 0)


async def test_a_waiter_that_is_pushed_out_in_the_moment_of_leaving_holds_nothing() -> None:
    places = Places(1, 2)
    async with anyio.create_task_group() as tasks:
        first, second = Guest("a", tasks, places), Guest("a", tasks, places)
        place = places.place("a")
        assert place.take()
        await settle()
        second.scope.cancel()
        newcomer = Guest("b", tasks, places)
        await settle()
        assert (second.over, places.waiting, places.held) == (True, 2, 1)
        place.give_back()
        first.go.set()
        newcomer.go.set()
    assert (places.held, places.waiting) == (0, 0)


moves = st.lists(
    st.tuples(st.sampled_from(["come", "come", "go", "cancel", "settle"]), st.integers(0, 20)), max_size=40
)


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(0, 4), moves)
def test_no_place_is_lost_or_doubled_whoever_leaves(limit: int, queue: int, script: list[tuple[str, int]]) -> None:
    async def play() -> None:
        places, guests = Places(limit, queue), list[Guest]()
        async with anyio.create_task_group() as tasks:
            for move, number in script:
                if move == "come":
                    guests.append(Guest("abc"[number % 3], tasks, places))
                elif move == "settle":
                    await settle()
                    inside = sum(guest.inside for guest in guests)
                    waits = sum(not guest.over and not guest.inside for guest in guests)
                    assert (places.held, places.waiting) == (inside, waits)
                    assert inside <= limit
                    assert waits <= queue
                    assert not waits or inside == limit
                elif guests:
                    guest = guests[number % len(guests)]
                    guest.go.set() if move == "go" else guest.scope.cancel()
            for guest in guests:
                guest.go.set()
        assert all(guest.over for guest in guests)
        assert (places.held, places.waiting) == (0, 0)

    anyio.run(play)


def test_a_place_tells_whether_it_is_held() -> None:
    place = Place(Places(1), "a")
    assert not place.holds
    assert place.take()
    assert place.holds


async def test_other_limits_hold_for_all_who_are_here() -> None:
    places, guests = Places(2, 9), list[Guest]()
    async with anyio.create_task_group() as tasks:
        guests += [Guest("a", tasks, places) for _ in range(6)]
        await settle()
        places.follow(Places(4, 7, 5.0))
        await settle()
        assert (places.held, places.waiting, places.queue, places.seconds) == (4, 2, 7, 5.0)
        places.follow(Places(1, 7))
        for left in (3, 2, 1):  # nobody follows those who go, until one alone is here
            next(guest for guest in guests if guest.inside).go.set()
            await settle()
            assert (places.held, places.waiting) == (left, 2)
        next(guest for guest in guests if guest.inside).go.set()
        await settle()
        assert (places.held, places.waiting) == (1, 1)
        places.follow(Places())
        await settle()
        assert (places.held, places.waiting) == (2, 0)
        for guest in guests:
            guest.go.set()
    assert (places.held, places.waiting) == (0, 0)


async def test_with_the_limits_goes_who_is_welcome_to_stand_by() -> None:
    one, places = Places(1), Places(1, welcome=lambda: False)
    first, other = one.place("a"), places.place("a")
    assert first.take()
    assert other.take()
    async with anyio.create_task_group() as tasks:
        waiter = one.place("b")
        tasks.start_soon(waiter.wait, [places.place("b")])
        await settle()
        other.give_back()
        await settle()
        assert (places.held, one.waiting) == (0, 1)
        places.follow(Places(1, welcome=lambda: True))
        await settle()
        assert (places.held, one.waiting) == (1, 0)
        first.give_back()
