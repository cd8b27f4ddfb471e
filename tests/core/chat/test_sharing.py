from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from core.chat.sharing import SharedCounts

pytestmark = pytest.mark.anyio


class Engine:
    """Counts how many questions are with it; each waits for the gate."""

    def __init__(self, answer: int | None = 7) -> None:
        self.answer = answer
        self.gate = anyio.Event()
        self.asked = self.now = self.most = 0

    async def ask(self) -> int | None:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.gate.wait()
        finally:
            self.now -= 1
        return self.answer


async def test_at_most_four_are_asked_at_a_time() -> None:
    counts, engine = SharedCounts(), Engine()
    found: list[int | None] = []

    async def one(key: int) -> None:
        found.append(await counts.get(key, engine.ask))

    async with anyio.create_task_group() as tasks:
        for key in range(25):
            tasks.start_soon(one, key)
        await anyio.wait_all_tasks_blocked()
        assert engine.now == 4
        engine.gate.set()
    assert (found, engine.asked, engine.most) == ([7] * 25, 25, 4)


@pytest.mark.parametrize("answer", [7, None])
async def test_equal_questions_share_one_answer(answer: int | None) -> None:
    counts, engine = SharedCounts(), Engine(answer)
    found: list[int | None] = []

    async def one() -> None:
        found.append(await counts.get("same", engine.ask))

    async with anyio.create_task_group() as tasks:
        for _ in range(25):
            tasks.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        engine.gate.set()
    assert (found, engine.asked) == ([answer] * 25, 1)
    assert await counts.get("same", engine.ask) == answer
    assert engine.asked == 2


async def test_when_the_asker_leaves_one_of_the_others_asks_again() -> None:
    counts, engine = SharedCounts(), Engine()
    found: list[int | None] = []
    leaving = anyio.CancelScope()

    async def asker() -> None:
        with leaving:
            await counts.get("same", engine.ask)

    async def other() -> None:
        found.append(await counts.get("same", engine.ask))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asker)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            tasks.start_soon(other)
        await anyio.wait_all_tasks_blocked()
        leaving.cancel()
        await anyio.wait_all_tasks_blocked()
        assert (engine.asked, engine.now) == (2, 1)
        engine.gate.set()
    assert found == [7] * 3


async def test_what_takes_too_long_has_no_answer() -> None:
    counts, engine = SharedCounts(at_once=1, seconds=0.0), Engine()
    assert await counts.get("slow", engine.ask) is None
    engine.gate.set()
    assert await SharedCounts(at_once=1).get("fast", engine.ask) == 7
    assert engine.now == 0


async def test_a_failure_is_the_asker_s_and_leaves_nothing_behind() -> None:
    counts, engine = SharedCounts(), Engine()

    async def fails() -> int:
        raise LookupError

    for _ in range(5):
        with pytest.raises(LookupError):
            await counts.get("same", fails)
    engine.gate.set()
    assert await counts.get("same", engine.ask) == 7
