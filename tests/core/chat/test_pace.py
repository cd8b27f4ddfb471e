from __future__ import annotations

import time

import anyio
import pytest

from core.chat.pace import TURN, Pace

pytestmark = pytest.mark.anyio


async def test_a_reader_that_never_waits_lets_others_run_and_can_be_cancelled() -> None:
    seen: list[str] = []

    async def reads() -> None:
        pace = Pace()
        while True:
            if pace.over(time.monotonic()):
                await pace.rest()

    async def leaves() -> None:
        seen.append("ran")
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(reads)
        group.start_soon(leaves)
    assert seen == ["ran"]


async def test_within_a_turn_nothing_is_given_away() -> None:
    ran: list[bool] = []

    async def other() -> None:
        ran.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        pace = Pace()
        began = time.monotonic()
        assert not pace.over(time.monotonic())
        assert not ran or time.monotonic() - began >= TURN


def test_a_read_that_waited_begins_the_turn_anew() -> None:
    pace = Pace()
    pace._end = 0.0
    now = time.monotonic()
    assert pace.over(now)
    assert not pace.over(now - 1)
    assert not pace.over(time.monotonic())
