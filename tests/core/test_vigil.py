from __future__ import annotations

from typing import Any

import anyio
import pytest

from core.config import BackendConfig
from core.errors import GatewayError
from core.vigil import Vigil

pytestmark = pytest.mark.anyio


class Watched:
    """A vigil, and what it did."""

    def __init__(self, *, interval: float = 60, life: bool = True, **limits: Any) -> None:
        self.given_up = anyio.Event()
        self.pinged = anyio.Event()
        self.pings = 0
        self._life = life
        self.vigil = Vigil(BackendConfig("b", ("p",), **limits), interval, give_up=self.given_up.set, ping=self.ping)

    def ping(self) -> bool:
        self.pings += 1
        self.pinged.set()
        return self._life

    async def error(self) -> str:
        with anyio.fail_after(5):
            await self.given_up.wait()
        return str(self.vigil.error)


async def test_an_answer_must_begin() -> None:
    watched = Watched(first_timeout=0.01)
    assert await watched.error() == "the upstream's answer did not begin within 0.01 seconds"
    assert isinstance(watched.vigil.error, GatewayError)
    assert watched.vigil.error.kind == "timeout"


async def test_chunks_without_a_piece_are_no_beginning() -> None:
    watched = Watched(first_timeout=0.02, read_timeout=60)
    watched.vigil.heard(begun=False, told=False)
    assert await watched.error() == "the upstream's answer did not begin within 0.02 seconds"


async def test_silence_is_limited_once_the_answer_began() -> None:
    watched = Watched(first_timeout=60, read_timeout=0.01)
    watched.vigil.heard(begun=True, told=True)
    assert await watched.error() == "the upstream was silent for 0.01 seconds"


async def test_a_client_that_takes_its_time_is_no_silence() -> None:
    watched = Watched(read_timeout=0.01, total_timeout=0.05)
    watched.vigil.heard(begun=True, told=True)
    watched.vigil.waits = False
    assert await watched.error() == "the answer was not complete after 0.05 seconds"


async def test_the_whole_is_limited_and_told_once() -> None:
    watched = Watched(total_timeout=0.01)
    assert await watched.error() == "the answer was not complete after 0.01 seconds"
    watched.vigil.fail(ValueError("later"))
    assert str(watched.vigil.error) == "the answer was not complete after 0.01 seconds"


async def test_nothing_is_shown_before_the_upstream_accepted() -> None:
    watched = Watched(interval=0.001, total_timeout=0.03)
    await watched.error()
    assert watched.pings == 0


async def test_life_is_shown_again_and_again() -> None:
    watched = Watched(interval=0.005)
    watched.vigil.accepted()
    with anyio.fail_after(5):
        while watched.pings < 3:
            watched.pinged = anyio.Event()
            await watched.pinged.wait()
    watched.vigil.end()


async def test_no_life_is_shown_where_there_is_no_way() -> None:
    watched = Watched(interval=0.001, life=False, total_timeout=0.05)
    watched.vigil.accepted()
    await watched.error()
    assert watched.pings == 1


async def test_no_life_is_shown_to_a_client_that_has_enough_to_take() -> None:
    watched = Watched(interval=0.001, total_timeout=0.03)
    watched.vigil.accepted()
    watched.vigil.waits = False
    await watched.error()
    assert watched.pings == 0


async def test_a_broken_writer_ends_the_attempt() -> None:
    watched = Watched(interval=0.001)

    def broken() -> bool:
        raise ZeroDivisionError("writer")

    watched.vigil._ping = broken
    watched.vigil.accepted()
    assert await watched.error() == "writer"


async def test_nothing_happens_after_the_end() -> None:
    watched = Watched(total_timeout=0.005)
    watched.vigil.end()
    await anyio.sleep(0.02)  # nothing to wait for: the point is that nothing comes
    assert watched.vigil.error is None
