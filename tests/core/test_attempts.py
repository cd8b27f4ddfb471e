from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from structlog.testing import capture_logs

from core import Candidate, Chunk, HTTPRequest, UpstreamError
from core.attempts import owner_of
from core.gateway import going
from core.record import Record
from tests.core.fakes import Collected
from tests.core.several import Several, answers, breaks, fails
from tests.core.test_failover import until

pytestmark = pytest.mark.anyio


async def test_one_candidate_is_asked_and_named() -> None:
    several = Several({"a": answers("hi")})
    sink = await several.ask()
    assert (sink.body, dict(sink.headers)[b"x-hookline-backend"]) == (b"hi<end_turn>", b"a")
    assert several.log == ["a open", "a closed"]


async def test_its_failure_is_told_as_it_is() -> None:
    several = Several({"a": fails(UpstreamError("slow", kind="rate_limit", retry_after=3))})
    with capture_logs() as logs:
        sink = await several.ask()
    assert (sink.status, sink.body, dict(sink.headers)[b"x-hookline-backend"]) == (429, b"!rate_limit: slow", b"a")
    assert "tried" not in logs[0]


async def test_what_it_held_of_an_answer_without_end_is_told() -> None:
    sink = await Several({"a": breaks([[{"text": "~held"}]])}).ask()
    assert sink.body == b"held!api: the upstream's answer broke off before its end"


async def test_a_candidate_that_is_not_here() -> None:
    sink = await Several({"a": answers("hi")}, candidates=[Candidate("b", "up")]).ask()
    assert (sink.status, sink.body) == (404, b"!not_found: model: m goes to a backend that is not here")


async def test_it_waits_for_a_place_and_gives_it_back() -> None:
    several = Several({"a": answers("hi")}, max_concurrent=1)
    places = several.states["a"].places
    held = places.place()
    assert held.take()
    async with anyio.create_task_group() as group:
        group.start_soon(several.ask)
        await until(lambda: places.waiting == 1)
        assert several.log == []
        held.give_back()
    assert several.log == ["a open", "a closed"]
    assert (places.held, places.waiting) == (0, 0)


async def test_a_full_queue_is_told_with_the_time_to_come_again() -> None:
    several = Several({"a": answers("hi")}, max_concurrent=1, max_queue=0)
    assert several.states["a"].places.place().take()
    sink = await several.ask()
    assert sink.status == 529
    assert b"come again in 1 s" in sink.body
    assert several.log == []


async def test_a_turn_that_does_not_come_in_time() -> None:
    several = Several({"a": answers("hi")}, max_concurrent=1, queue_timeout=0.01)
    assert several.states["a"].places.place().take()
    assert (await several.ask()).status == 529
    assert several.states["a"].places.waiting == 0


async def test_a_count_takes_no_place() -> None:
    several = Several({"a": answers("3")}, max_concurrent=1, max_queue=0)
    assert several.states["a"].places.place().take()
    assert (await several.ask("/api/count")).body == b"3<end_turn>"


async def test_a_server_that_goes_ends_the_wait_for_a_place() -> None:
    several = Several({"a": answers("hi")}, max_concurrent=1)
    places = several.states["a"].places
    assert places.place().take()
    answered: list[Collected] = []

    async def ask() -> None:
        answered.append(await several.ask())

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await until(lambda: places.waiting == 1)
        several.gateway.interrupt(going())
        several.gateway.interrupt(going())
    assert answered[0].body == b"!overloaded: the server is shutting down"
    assert (places.held, places.waiting, several.log) == (1, 0, [])


async def test_a_client_that_leaves_while_it_waits_gives_its_place_in_the_queue_back() -> None:
    several = Several({"a": answers("hi")}, max_concurrent=1)
    places = several.states["a"].places
    held = places.place()
    assert held.take()
    async with anyio.create_task_group() as group:
        group.start_soon(several.ask, "/api/stream", Collected(gone=True))
        await until(lambda: places.waiting == 1)
        held.give_back()  # in the very moment in which it leaves
        group.cancel_scope.cancel()
    assert (places.held, places.waiting) == (0, 0)


async def test_those_who_wait_are_served_in_turn_by_address() -> None:
    order: list[str] = []

    async def notes() -> AsyncIterator[list[Chunk]]:
        yield [{"text": "x", "end": True}]

    several = Several({"a": notes}, max_concurrent=1)
    places = several.states["a"].places
    held = places.place()
    assert held.take()

    async def ask(client: str) -> None:
        await several.ask(client=client)
        order.append(client)

    async with anyio.create_task_group() as group:
        for number, client in enumerate(("one:1", "one:2", "one:3", "two:1"), 1):
            group.start_soon(ask, client)
            await until(lambda number=number: places.waiting == number)
        held.give_back()
    assert order == ["one:1", "two:1", "one:2", "one:3"]


@pytest.mark.parametrize(
    "headers", [[(b"x-api-key", b"k"), (b"authorization", b"Bearer t")], [(b"authorization", b"Bearer t")], []]
)
def test_whose_a_request_is(headers: list[tuple[bytes, bytes]]) -> None:
    http = HTTPRequest("POST", "/", headers=headers, client="::1:4711")
    assert owner_of(http, Record(http, key="alice")) == "alice"
    assert owner_of(http, Record(http)) == http.owner
