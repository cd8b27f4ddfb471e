from __future__ import annotations

import anyio
import pytest
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.fetch_urls.turns import Turns

pytestmark = pytest.mark.anyio


class Fetch:
    """One that wants a place, and holds it until it is told to go."""

    def __init__(self, owner: str, tasks: TaskGroup, turns: Turns, log: list[str] | None = None) -> None:
        self.owner = owner
        self.inside = self.over = False
        self.scope = anyio.CancelScope()
        self.go = anyio.Event()
        self._log = [] if log is None else log
        tasks.start_soon(self._run, turns)

    async def _run(self, turns: Turns) -> None:
        with self.scope:
            async with turns.turn(self.owner):
                self._log.append(self.owner)
                self.inside = True
                await self.go.wait()
        self.inside, self.over = False, True


async def settle() -> None:
    for _ in range(6):
        await anyio.lowlevel.checkpoint()


def inside(fetches: list[Fetch], owner: str) -> int:
    return sum(each.inside for each in fetches if each.owner == owner)


async def test_no_owner_has_the_last_place() -> None:
    turns, fetches = Turns(16), list[Fetch]()
    async with anyio.create_task_group() as tasks:
        for owner, held in (("a", 8), ("b", 4), ("c", 2), ("d", 1), ("e", 1)):
            assert turns.free(owner)
            fetches += [Fetch(owner, tasks, turns) for _ in range(20)]
            await settle()
            assert inside(fetches, owner) == held
        assert not turns.free("f")
        tasks.cancel_scope.cancel()
    assert turns.free("a")


async def test_who_is_not_known_may_have_all_that_is_free() -> None:
    turns, fetches = Turns(5), list[Fetch]()
    async with anyio.create_task_group() as tasks:
        fetches += [Fetch("", tasks, turns) for _ in range(9)]
        await settle()
        assert inside(fetches, "") == 5
        tasks.cancel_scope.cancel()


async def test_of_few_places_everybody_can_have_one() -> None:
    for most in (1, 2, 3):
        turns = Turns(most)
        async with turns.turn("a"):
            assert turns.free("b") is (most > 1)
        assert turns.free("a")


async def test_owners_take_turns_and_each_is_served_in_order() -> None:
    turns, log = Turns(1), list[str]()
    async with anyio.create_task_group() as tasks:
        fetches = []
        for owner in "aaaabbc":
            fetches.append(Fetch(owner, tasks, turns, log))
            await settle()
        for _ in fetches:
            next(each for each in fetches if each.inside).go.set()
            await settle()
    assert "".join(log) == "aabcaba"


async def test_there_may_be_more_or_fewer_of_them() -> None:
    turns, fetches = Turns(2), list[Fetch]()
    async with anyio.create_task_group() as tasks:
        fetches += [Fetch("", tasks, turns) for _ in range(6)]
        await settle()
        turns.resize(4)
        await settle()
        assert inside(fetches, "") == 4
        turns.resize(1)
        for left in (3, 2, 1, 1):
            next(each for each in fetches if each.inside).go.set()
            await settle()
            assert inside(fetches, "") == left
        tasks.cancel_scope.cancel()
    async with turns.turn(""):
        assert not turns.free("")


moves = st.lists(
    st.tuples(st.sampled_from(["come", "come", "go", "cancel", "settle"]), st.integers(0, 20)), max_size=40
)


@settings(deadline=None)
@given(st.integers(1, 9), moves)
def test_no_place_is_lost_or_doubled_whoever_leaves(most: int, script: list[tuple[str, int]]) -> None:
    async def play() -> None:
        turns, fetches = Turns(most), list[Fetch]()
        async with anyio.create_task_group() as tasks:
            for move, number in script:
                if move == "come":
                    fetches.append(Fetch(["a", "b", "c", ""][number % 4], tasks, turns))
                elif move == "settle":
                    await settle()
                    assert sum(each.inside for each in fetches) <= most
                    waiting = {each.owner for each in fetches if not each.over and not each.inside}
                    assert not any(map(turns.free, waiting))
                elif fetches:
                    chosen = fetches[number % len(fetches)]
                    chosen.go.set() if move == "go" else chosen.scope.cancel()
            for each in fetches:
                each.go.set()
        assert all(each.over for each in fetches)
        assert turns._left == most
        assert not turns._held
        assert not turns._waiting

    anyio.run(play)
