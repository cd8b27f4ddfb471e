from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from structlog.testing import capture_logs

from core import Candidate, Chunk, Record, RequestError, UpstreamError, hookimpl
from core.config import ServerConfig
from core.gateway import going
from tests.core.fakes import Collected
from tests.core.several import Several, answers, breaks, fails

pytestmark = pytest.mark.anyio

BUSY = UpstreamError("slow down", kind="rate_limit", retry_after=7)
DOWN = UpstreamError("the upstream cannot be reached", kind="overloaded")
OOPS = UpstreamError("oops")
REFUSED = UpstreamError("the upstream cannot be reached", kind="overloaded")
REFUSED.__cause__ = httpx.ConnectError("refused")
SILENT = UpstreamError("the upstream cannot be reached", kind="timeout")
SILENT.__cause__ = httpx.ConnectTimeout("slow")


def header(sink: Collected) -> str:
    return dict(sink.headers).get(b"x-hookline-backend", b"").decode()


@pytest.mark.parametrize("path", ["/api/stream", "/api/say"])
@pytest.mark.parametrize("error", [BUSY, DOWN, OOPS, UpstreamError("late", kind="timeout")], ids=lambda e: e.kind)
async def test_the_next_one_answers_and_the_log_says_why(path: str, error: UpstreamError) -> None:
    several = Several({"a": fails(error), "b": answers("hi")})
    with capture_logs() as logs:
        sink = await several.ask(path)
    assert (sink.status, sink.body, header(sink)) == (200, b"hi<end_turn>", "b")
    assert several.log == ["a open", "a closed", "b open", "b closed"]
    (line,) = logs
    assert (line["backend"], line["tried"]) == ("b", f"a: {error.status} {error.message}")


async def test_a_silence_before_the_answer_is_a_failure_like_others() -> None:
    async def silent() -> AsyncIterator[list[Chunk]]:
        yield [{}]
        await anyio.sleep_forever()

    several = Several({"a": silent, "b": answers("hi")}, limits={"a": {"first_timeout": 0.02}})
    assert (await several.ask()).body == b"hi<end_turn>"
    assert several.log == ["a open", "a closed", "b open", "b closed"]


@pytest.mark.parametrize("path", ["/api/stream", "/api/say"])
async def test_after_a_piece_of_the_answer_nobody_takes_over(path: str) -> None:
    several = Several({"a": breaks([[{"text": "x"}]], DOWN), "b": answers("hi")})
    sink = await several.ask(path)
    assert several.log == ["a open", "a closed"]
    assert b"!overloaded: the upstream cannot be reached" in sink.body
    assert header(sink) == "a"


@pytest.mark.parametrize(
    "error",
    [
        RequestError("no"),
        UpstreamError("too long", kind="invalid_request"),
        UpstreamError("no such", kind="not_found"),
        ValueError("broken"),
    ],
    ids=repr,
)
async def test_what_is_no_failure_of_a_backend_is_told_at_once(error: Exception) -> None:
    several = Several({"a": fails(error), "b": answers("hi")})
    with capture_logs():
        sink = await several.ask()
    assert sink.status >= 400
    assert several.log == ["a open", "a closed"]
    assert header(sink) == "a"


async def test_what_a_failed_one_held_is_in_no_other_answer() -> None:
    several = Several({"a": breaks([[{"text": "~held"}]]), "b": answers("hi")})
    assert (await several.ask()).body == b"hi<end_turn>"
    several = Several({"a": breaks([[{"text": "~held"}]]), "b": breaks([[{"text": "~too"}]])})
    assert b"held" not in (await several.ask()).body


async def test_all_fail_and_the_most_useful_error_is_told_with_the_soonest_time() -> None:
    busy = UpstreamError("slow down", kind="rate_limit", retry_after=30)
    several = Several({"a": fails(OOPS), "b": fails(busy), "c": fails(UpstreamError("x", status=503, retry_after=4))})
    with capture_logs() as logs:
        sink = await several.ask()
    assert (sink.status, sink.body, header(sink)) == (429, b"!rate_limit: slow down", "c")
    assert logs[0]["tried"] == "a: 500 oops; b: 429 slow down; c: 503 x"


class Told:
    """Keeps what the client was told."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    @hookimpl
    def exchange(self, record: Record) -> None:
        self.records.append(record)


async def test_the_time_that_is_told_is_long_enough_where_others_were_told_more() -> None:
    async def slow() -> AsyncIterator[list[Chunk]]:
        yield [{}]
        several.cool("a", UpstreamError("slow down", kind="rate_limit", retry_after=9))
        raise UpstreamError("slow down", kind="rate_limit", retry_after=2)

    told = Told()
    several = Several({"a": slow, "b": fails(OOPS)}, front=[told])
    assert (await several.ask()).status == 429
    (record,) = told.records
    assert record.error is not None
    assert record.error.retry_after == pytest.approx(9, abs=1)


async def test_one_that_cools_down_is_passed_over() -> None:
    several = Several({"a": answers("no"), "b": answers("hi")})
    several.cool("a", BUSY)
    with capture_logs() as logs:
        assert (await several.ask()).body == b"hi<end_turn>"
    assert several.log == ["b open", "b closed"]
    assert logs[0]["tried"] == "a: cooling down"


async def test_when_all_were_told_to_wait_nobody_is_asked() -> None:
    several = Several({"a": answers("no"), "b": answers("no")})
    several.cool("a", BUSY)
    several.cool("b", BUSY)
    sink = await several.ask()
    assert (sink.status, sink.body, header(sink), several.log) == (429, b"!rate_limit: slow down", "", [])


async def test_when_all_cool_down_one_that_did_not_ask_for_it_is_asked() -> None:
    several = Several({"a": answers("hi"), "b": answers("no")})
    several.cool("a", REFUSED)
    several.cool("b", BUSY)
    assert (await several.ask()).body == b"hi<end_turn>"
    assert several.log == ["a open", "a closed"]
    assert several.states["a"].health.may_try()


async def test_then_all_that_did_not_are_asked_each_once_the_one_that_is_due_soonest_first() -> None:
    several = Several({"a": fails(OOPS), "b": fails(OOPS), "c": answers("no"), "d": fails(OOPS)})
    for name in "ab":
        several.cool(name, REFUSED)
    several.cool("c", BUSY)
    several.cool("d", REFUSED)
    health = several.states["a"].health
    health._until = (health._until or 0) + 10
    sink = await several.ask()
    assert sink.status == BUSY.status
    assert sorted(several.log[:4]) == ["b closed", "b open", "d closed", "d open"]
    assert several.log[4:] == ["a open", "a closed"]


async def test_after_a_failure_one_that_cools_down_is_asked_when_nobody_else_is_left() -> None:
    several = Several({"a": answers("hi"), "b": fails(OOPS), "c": fails(OOPS)})
    several.cool("a", REFUSED)
    with capture_logs() as logs:
        assert (await several.ask()).body == b"hi<end_turn>"
    assert several.log == ["b open", "b closed", "c open", "c closed", "a open", "a closed"]
    assert logs[0]["tried"] == "b: 500 oops; c: 500 oops"


@pytest.mark.parametrize("error", [BUSY, SILENT], ids=["told", "silent"])
async def test_but_not_one_that_asked_for_the_time_or_is_silent(error: UpstreamError) -> None:
    several = Several({"a": answers("no"), "b": fails(OOPS)})
    several.cool("a", error)
    sink = await several.ask()
    assert sink.status == error.status
    assert several.log == ["b open", "b closed"]


async def test_nor_one_that_asks_for_time_while_the_request_waits_for_a_place_there() -> None:
    several = Several({"a": answers("no"), "b": answers("no")}, max_concurrent=1)
    places = several.states["a"].places.place()
    assert places.take()
    several.cool("a", REFUSED)
    several.cool("b", BUSY)
    async with anyio.create_task_group() as group:
        group.start_soon(several.ask)
        await until(lambda: several.states["a"].places.waiting == 1)
        several.cool("a", BUSY)
        places.give_back()
    assert several.log == []
    assert several.states["a"].places.held == 0


async def test_backends_that_fail_now_and_then_are_better_together_than_one_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.failover.PAUSE", 0.0)
    chance = random.Random(1)

    async def unsteady() -> AsyncIterator[list[Chunk]]:
        yield [{}]
        if chance.random() < 0.4:
            raise DOWN
        yield [{"text": "hi", "end": True}]

    several = Several({"a": unsteady, "b": unsteady, "c": unsteady})
    with capture_logs():
        statuses = [(await several.ask()).status for _ in range(100)]
    assert statuses.count(200) > 85, "one of them alone answers 60, and three 94"


async def test_a_lone_one_is_asked_even_so() -> None:
    several = Several({"a": answers("hi")})
    several.cool("a", BUSY)
    assert (await several.ask()).body == b"hi<end_turn>"


async def test_a_count_is_made_even_so_and_says_nothing_about_health() -> None:
    several = Several({"a": answers("1"), "b": answers("2")}, max_concurrent=1, max_queue=0)
    several.cool("a", BUSY)
    several.cool("b", BUSY)
    place = several.states["a"].places.place()
    assert place.take()
    assert (await several.ask("/api/count")).body == b"1<end_turn>"
    assert not several.states["a"].health.may_try()


async def test_an_answer_that_has_begun_ends_a_cool_down(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = anyio.Event(), anyio.Event()

    async def slow() -> AsyncIterator[list[Chunk]]:
        yield [{"text": "a"}]
        begun.set()
        await go.wait()
        yield [{"end": True}]

    several = Several({"a": slow, "b": answers("hi")})
    several.cool("a", REFUSED)
    health = several.states["a"].health
    monkeypatch.setattr(health, "_clock", lambda: asyncio.get_running_loop().time() + 1000)
    async with anyio.create_task_group() as group:
        group.start_soon(several.ask)
        await begun.wait()
        assert health.may_try()
        go.set()


async def test_the_budget_bounds_how_often_another_is_asked() -> None:
    several = Several({"a": fails(OOPS), "b": answers("hi")})
    several.gateway._budget.tokens = 0.0
    sink = await several.ask()
    assert (sink.status, several.log) == (500, ["a open", "a closed"])


async def test_no_new_attempt_follows_once_the_whole_time_is_over() -> None:
    async def slow() -> AsyncIterator[list[Chunk]]:
        yield [{}]
        await anyio.sleep_forever()

    several = Several({"a": slow, "b": answers("hi")}, limits={"a": {"total_timeout": 0.02}})
    sink = await several.ask()
    assert sink.body == b"!timeout: the answer was not complete after 0.02 seconds"
    assert several.log == ["a open", "a closed"]


async def test_life_goes_on_being_shown_by_later_attempts() -> None:
    pings: list[str] = []
    pinged = [anyio.Event(), anyio.Event()]

    class Hears(Collected):
        async def send(self, data: bytes, more: bool) -> None:
            await super().send(data, more)
            if data == b".":
                pings.append(several.log[-1])
                pinged[several.log[-1] == "b open"].set()

    async def first() -> AsyncIterator[list[Chunk]]:
        await pinged[0].wait()
        yield []
        raise DOWN

    async def second() -> AsyncIterator[list[Chunk]]:
        await pinged[1].wait()
        yield [{"text": "hi", "end": True}]

    several = Several({"a": first, "b": second}, server=ServerConfig(ping_interval=0.005))
    with anyio.fail_after(5):
        sink = await several.ask(sink=Hears(gone=False))
    assert sink.body.replace(b".", b"") == b"hi<end_turn>"
    assert {"a open", "b open"} <= set(pings)
    assert header(sink) == ""  # nobody had won when it went out


async def test_one_that_is_full_is_passed_over() -> None:
    several = Several({"a": answers("no"), "b": answers("hi")}, max_concurrent=1)
    assert several.states["a"].places.place().take()
    with capture_logs() as logs:
        assert (await several.ask()).body == b"hi<end_turn>"
    assert logs[0]["tried"] == "a: all its places are taken"
    assert several.states["b"].places.held == 0


async def test_when_all_are_full_it_waits_for_the_first() -> None:
    several = Several({"a": answers("hi"), "b": answers("no")}, max_concurrent=1)
    places = [several.states[name].places.place() for name in "ab"]
    assert all(place.take() for place in places)
    answers_: list[Collected] = []

    async def ask() -> None:
        answers_.append(await several.ask())

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await until(lambda: several.states["a"].places.waiting == 1)
        places[0].give_back()
    assert answers_[0].body == b"hi<end_turn>"
    assert several.states["a"].places.held == 0


async def test_it_goes_to_another_where_a_place_becomes_free_before() -> None:
    several = Several({"a": answers("no"), "b": answers("hi")}, max_concurrent=1)
    places = [several.states[name].places.place() for name in "ab"]
    assert all(place.take() for place in places)
    with capture_logs() as logs:
        async with anyio.create_task_group() as group:
            group.start_soon(several.ask)
            await until(lambda: several.states["a"].places.waiting == 1)
            places[1].give_back()
    assert several.log == ["b open", "b closed"]
    assert [several.states[name].places.held for name in "ab"] == [1, 0]
    assert several.states["a"].places.waiting == 0
    assert logs[0]["tried"] == "a: all its places are taken"


async def test_one_that_failed_in_the_meantime_is_not_asked_when_a_place_is_free() -> None:
    several = Several({"a": answers("no"), "b": answers("hi")}, max_concurrent=1)
    places = [several.states[name].places.place() for name in "ab"]
    assert all(place.take() for place in places)
    async with anyio.create_task_group() as group:
        group.start_soon(several.ask)
        await until(lambda: several.states["a"].places.waiting == 1)
        several.cool("a", BUSY)
        places[1].give_back()
        places[0].give_back()
    assert several.log == ["b open", "b closed"]
    assert several.states["a"].places.held == 0


async def test_all_full_and_no_room_to_wait_says_when_to_come_again() -> None:
    several = Several({"a": answers("no"), "b": answers("no")}, max_concurrent=1, max_queue=0)
    assert all(several.states[name].places.place().take() for name in "ab")
    sink = await several.ask()
    assert sink.status == 529
    assert several.log == []


@pytest.mark.parametrize("where", ["queue", "pause", "attempt"])
async def test_a_server_that_goes_ends_all_of_it(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.failover.PAUSE", 1000.0)
    reached = anyio.Event()

    async def stuck() -> AsyncIterator[list[Chunk]]:
        reached.set()
        if where == "pause":
            raise DOWN
        await anyio.sleep_forever()
        yield []

    several = Several({"a": stuck, "b": answers("hi")}, max_concurrent=1)
    if where == "queue":
        assert all(several.states[name].places.place().take() for name in "ab")
    answered: list[Collected] = []

    async def ask() -> None:
        answered.append(await several.ask())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            if where == "queue":
                await until(lambda: several.states["a"].places.waiting == 1)
            else:
                await reached.wait()
                await until(lambda: where == "attempt" or "a closed" in several.log)
            several.gateway.interrupt(going())
    assert answered[0].body == b"!overloaded: the server is shutting down"
    assert "b open" not in several.log
    assert several.states["a"].places.waiting == 0


@pytest.mark.parametrize("where", ["queue", "pause", "attempt"])
async def test_a_client_that_leaves_gives_all_back(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.failover.PAUSE", 1000.0)
    reached = anyio.Event()

    async def stuck() -> AsyncIterator[list[Chunk]]:
        reached.set()
        if where == "pause":
            raise DOWN
        await anyio.sleep_forever()
        yield []

    several = Several({"a": stuck, "b": answers("hi")}, max_concurrent=1)
    held = [several.states[name].places.place() for name in "ab"] if where == "queue" else []
    assert all(place.take() for place in held)
    async with anyio.create_task_group() as group:
        group.start_soon(several.ask, "/api/stream", Collected(gone=True))
        if where == "queue":
            await until(lambda: several.states["a"].places.waiting == 1)
        else:
            await reached.wait()
            await until(lambda: where == "attempt" or "a closed" in several.log)
        group.cancel_scope.cancel()
    for place in held:
        place.give_back()
    assert "b open" not in several.log
    assert [(state.places.held, state.places.waiting) for state in several.states.values()] == [(0, 0), (0, 0)]
    assert several.states["b"].health.may_try()


async def test_candidates_whose_backend_is_not_here_are_left_out() -> None:
    candidates = (Candidate("gone", "up"), Candidate("a", "up", priority=1))
    assert (await Several({"a": answers("hi")}, candidates=candidates).ask()).body == b"hi<end_turn>"
    none = (Candidate("gone", "up"), Candidate("lost", "up"))
    assert (await Several({"a": answers("hi")}, candidates=none).ask()).status == 404


async def until(true: Any) -> None:
    """Wait for it."""
    with anyio.fail_after(5):
        while not true():
            await anyio.lowlevel.checkpoint()
