from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import attrs
import pytest

from plugins.fetch_urls.errors import BusyError
from plugins.fetch_urls.names import Names

pytestmark = pytest.mark.anyio


@attrs.define
class Slow:
    """A system that does not answer before it is let; `asked` are the names it was asked for."""

    let: threading.Event = attrs.field(factory=threading.Event)
    asked: list[str] = attrs.field(factory=list)
    running: int = 0

    def getaddrinfo(self, host: str, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        self.running += 1
        self.asked.append(host)
        self.let.wait(10)
        self.running -= 1
        return [(0, 0, 0, "", ("192.0.2.1", 0))]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    system = Slow()
    monkeypatch.setattr(socket, "getaddrinfo", system.getaddrinfo)
    yield system
    system.let.set()


async def left(names: Names, host: str, system: Slow, owner: str = "") -> None:
    """Ask, and leave once the system was asked."""
    before = len(system.asked)
    async with anyio.create_task_group() as group:
        group.start_soon(names, host, owner)
        with anyio.fail_after(10):
            while len(system.asked) == before:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


async def test_the_system_resolves_and_numbers_stay_numbers() -> None:
    names = Names()
    assert await names("127.0.0.1") == ["127.0.0.1"]
    assert set(await names("localhost")) <= {"127.0.0.1", "::1"}


async def test_who_leaves_does_not_wait_for_a_slow_one(slow: Slow) -> None:
    await left(Names(), "slow.example", slow)
    assert slow.running == 1


async def test_those_that_were_left_behind_are_bounded(slow: Slow) -> None:
    names = Names(3)
    for number in range(3):
        await left(names, f"{number}.example", slow)
    for _ in range(5):
        with pytest.raises(BusyError):
            await names("more.example")
    assert slow.running == 3
    assert "more.example" not in slow.asked
    slow.let.set()
    with anyio.fail_after(10):
        while slow.running:
            await anyio.lowlevel.checkpoint()
    for _ in range(5):
        assert await names("again.example") == ["192.0.2.1"]


async def test_a_place_comes_back_from_one_that_never_began(slow: Slow) -> None:
    names = Names(1)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await names("never.example")
    assert slow.asked == []
    slow.let.set()
    assert await names("now.example") == ["192.0.2.1"]


async def test_a_place_comes_back_from_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    names = Names(1)
    for _ in range(3):
        with pytest.raises(OSError, match="no such name"):
            await names("nowhere.example")


async def test_no_owner_has_the_last_look_up(slow: Slow) -> None:
    names = Names(4)
    for number in range(2):
        await left(names, f"{number}.example", slow, "a")
    with pytest.raises(BusyError):
        await names("more.example", "a")
    await left(names, "other.example", slow, "b")
    await left(names, "unknown.example", slow)
    slow.let.set()
    with anyio.fail_after(10):
        while slow.running:
            await anyio.lowlevel.checkpoint()
    assert await names("again.example", "a") == ["192.0.2.1"]
