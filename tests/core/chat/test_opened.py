from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import anyio.lowlevel
import pytest

from core.chat.completion import Chunk
from core.chat.opened import Opened

pytestmark = pytest.mark.anyio


async def chunks(log: list[str], name: str, fails: bool = False) -> AsyncGenerator[list[Chunk]]:
    try:
        yield []
    finally:
        log.append(name)
        if fails:
            raise ValueError(name)


async def begun(log: list[str], *names: str) -> Opened:
    opened = Opened()
    for name in names:
        made = chunks(log, name, name.isupper())
        await anext(made)
        opened.append(made)
    return opened


async def test_all_are_closed_the_last_one_first() -> None:
    log: list[str] = []
    opened = await begun(log, "a", "b")
    await opened.aclose()
    await opened.aclose()
    assert log == ["b", "a"]


async def test_one_that_fails_keeps_none_open() -> None:
    log: list[str] = []
    opened = await begun(log, "a", "B", "c")
    with pytest.raises(ValueError, match="B"):
        await opened.aclose()
    assert log == ["c", "B", "a"]


async def test_they_are_closed_also_when_the_client_has_left() -> None:
    log: list[str] = []

    async def waits() -> AsyncGenerator[list[Chunk]]:
        try:
            yield []
        finally:
            await anyio.lowlevel.checkpoint()
            log.append("closed")

    opened, made = Opened(), waits()
    await anext(made)
    opened.append(made)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await opened.aclose()
    assert log == ["closed"]
