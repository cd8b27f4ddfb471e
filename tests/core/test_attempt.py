from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core import Candidate, Chunk, GatewayError, HTTPRequest, Request, RequestError, Route, Text, UpstreamError
from core.attempt import Attempt
from core.balance.health import Health, Trial
from core.chat import UpstreamClient
from core.config import BackendConfig
from core.outlet import Outlet
from core.pipeline import Back
from core.record import Record
from tests.core.fakes import Collected, Script, TextAnswer, Upstream, manager
from tests.core.several import answers, breaks, fails

pytestmark = pytest.mark.anyio

HTTP = HTTPRequest("POST", "/stream")
ROUTE = Route((Candidate("b", "up"),))


class Told(Trial):
    """Writes down what it is told."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(Health(), 0)
        self._log = log

    def begun(self) -> None:
        self._log.append("begun")

    def won(self) -> None:
        self._log.append("won")

    def failed(self, error: UpstreamError) -> None:
        self._log.append(f"failed: {error.message}")

    def left(self) -> None:
        self._log.append("left")


class Made:
    """An attempt; `log` is what its upstream and its trial saw."""

    def __init__(self, script: Script, *, interval: float = 60, **limits: Any) -> None:
        upstream = Upstream(script)
        self.log = upstream.log
        self.sink = Collected()
        self.out = Outlet(self.sink, Record(HTTP), TextAnswer(HTTP, stream=True))
        back = Back("b", manager(upstream), UpstreamClient(BackendConfig("b", ("U",), **limits)))
        request = Request("message", model="m", stream=True)
        self.attempt = Attempt(back, request, ROUTE, self.out, interval=interval, trial=Told(self.log))


async def test_a_whole_answer() -> None:
    made = Made(answers("hi"))
    await made.attempt.run()
    assert (made.sink.body, made.out.backend, made.attempt.begun) == (b"hi<end_turn>", "b", True)
    assert made.log == ["open", "begun", "closed", "won"]


async def test_a_failure_before_it_begins_leaves_the_client_alone() -> None:
    made = Made(fails(UpstreamError("oops")))
    with pytest.raises(UpstreamError, match="oops"):
        await made.attempt.run()
    assert (made.sink.status, made.out.backend, made.attempt.begun) == (0, "", False)
    assert made.log == ["open", "closed", "failed: oops"]


async def test_what_is_held_of_an_answer_without_its_end_is_told_only_behind_a_beginning() -> None:
    made = Made(breaks([[{"text": "~held"}]]))
    with pytest.raises(UpstreamError, match="broke off"):
        await made.attempt.run()
    assert (made.sink.body, made.attempt.held) == (b"", [Text("held")])
    made = Made(breaks([[{"text": "a~held"}]]))
    with pytest.raises(UpstreamError, match="broke off"):
        await made.attempt.run()
    assert (made.sink.body, made.attempt.held, made.attempt.begun) == (b"aheld", [], True)


@pytest.mark.parametrize("error", [RequestError("no"), ValueError("broken")], ids=repr)
async def test_what_is_not_the_backends_says_nothing_of_its_health(error: Exception) -> None:
    made = Made(fails(error))
    with pytest.raises(type(error)):
        await made.attempt.run()
    assert made.log == ["open", "closed", "left"]


async def stuck() -> AsyncIterator[list[Chunk]]:
    yield []
    await anyio.sleep_forever()


async def test_a_limit_is_a_failure_and_ends_it_alone() -> None:
    made = Made(stuck, first_timeout=0.01)
    with pytest.raises(UpstreamError, match=r"did not begin within 0\.01 seconds"):
        await made.attempt.run()
    assert made.log[:2] == ["open", "closed"]
    assert made.log[2].startswith("failed: ")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_it_is_ended_from_outside() -> None:
    made = Made(stuck)
    made.attempt.fail(GatewayError("too early: it does not run"))

    async def end() -> None:
        while "open" not in made.log:
            await anyio.lowlevel.checkpoint()
        made.attempt.fail(GatewayError("the server goes"))

    async with anyio.create_task_group() as group:
        group.start_soon(end)
        with pytest.raises(GatewayError, match="the server goes"):
            await made.attempt.run()
    assert made.log == ["open", "closed", "left"]


async def test_a_client_that_leaves() -> None:
    made = Made(stuck)
    with anyio.move_on_after(0.01):
        await made.attempt.run()
    assert made.log == ["open", "closed", "left"]


async def test_a_client_that_has_been_shown_life_sees_more_before_the_upstream_accepts() -> None:
    pinged = anyio.Event()

    class Hears(Collected):
        async def send(self, data: bytes, more: bool) -> None:
            await super().send(data, more)
            if self.pieces.count(b".") == 2:
                pinged.set()

    class Slow(Upstream):
        @asynccontextmanager
        async def call(self) -> AsyncIterator[AsyncIterator[list[Chunk]]]:
            await pinged.wait()
            yield self.script()

    made = Made(answers("hi"), interval=0.005)
    made.out.sink = sink = Hears()
    made.attempt._back = Back("b", manager(Slow(answers("hi"))), made.attempt._back.client)
    assert made.out.ping()  # by an attempt before this one
    with anyio.fail_after(5):
        await made.attempt.run()
    assert sink.body.replace(b".", b"") == b"hi<end_turn>"
