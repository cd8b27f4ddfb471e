from __future__ import annotations

import asyncio
from typing import Any

import pytest

from core.serve.ending import END, Ending
from tests.core.serve.hello import Hello
from tests.core.serve.served import WITHIN

pytestmark = pytest.mark.anyio


class Case:
    """An ending, and what it told."""

    def __init__(self, grace: float) -> None:
        self.app = Hello()
        self.app.drain_grace = grace
        self.told: list[tuple[Any, ...]] = []
        self.certain: list[float] = []
        self.ending = Ending(self.app, lambda *words: self.told.append(words), self.certain.append)

    @property
    def state(self) -> tuple[bool, bool, bool]:
        return self.app.leaving, self.app.draining.is_set(), self.ending.drains.is_set()


async def test_without_grace_it_drains_at_once() -> None:
    case = Case(0.0)
    case.ending.begin()
    case.ending.begin()
    assert case.state == (False, True, True)
    assert (case.told, case.certain) == ([("drains", 0.5, 0.0)], [0.5 + END])


async def test_the_grace_comes_before_the_draining() -> None:
    case = Case(0.01)
    case.ending.begin()
    case.ending.begin()
    assert case.state == (True, False, False)
    async with asyncio.timeout(WITHIN):
        await case.ending.drains.wait()
    assert case.state == (True, True, True)
    assert (case.told, case.certain) == ([("drains", 0.5, 0.01)], [0.51 + END])


@pytest.mark.parametrize("first", [True, False])
async def test_hurry_ends_the_grace_also_when_it_comes_first(first: bool) -> None:
    case = Case(60.0)
    if first:
        case.ending.begin()
    case.ending.hurry()
    case.ending.hurry()
    case.ending.begin()
    assert case.state == (first, True, True)


async def test_without_a_master_there_is_no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def is_alive(self) -> bool:
            return False

    monkeypatch.setattr("multiprocessing.parent_process", Gone)
    case = Case(60.0)
    case.ending.begin()
    assert case.state == (False, True, True)
    assert case.told == [("drains", 0.5, 0.0)]
