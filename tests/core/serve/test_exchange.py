from __future__ import annotations

import asyncio
from typing import Any

import pytest

from core.serve.answers import CONTINUE, Headers
from core.serve.exchange import HELD, Exchange
from core.serve.heads import Head
from tests.core.serve.direct import Wire, settle

pytestmark = pytest.mark.anyio

START = {"type": "http.response.start", "status": 200, "headers": []}
GONE = {"type": "http.disconnect"}


class Owner:
    """A connection that remembers what it was told."""

    def __init__(self) -> None:
        self.closing = False
        self.common: Headers = []
        self.told: list[str] = []

    async def answered(self) -> None:
        self.told.append("answered")

    async def lost(self) -> None:
        self.told.append("lost")

    def resume(self) -> None:
        self.told.append("resume")


def made(method: str = "POST", **more: Any) -> tuple[Exchange, Wire, Owner]:
    wire, owner = Wire(), Owner()
    writer: Any = wire
    return Exchange(Head(method, b"/", "1.1", [], **more), writer, owner), wire, owner


def body(data: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


def came(data: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


async def test_what_has_gathered_of_the_body_comes_at_once() -> None:
    exchange, wire, _ = made(length=10)
    waiting = asyncio.create_task(exchange.receive())
    await settle()
    exchange.feed(b"he", complete=False)
    exchange.feed(b"llo", complete=False)
    assert await waiting == came(b"hello", more=True)
    exchange.feed(b"world", complete=True)
    assert await exchange.receive() == came(b"world", more=False)
    assert wire.writes == []


async def test_an_empty_body_comes_once() -> None:
    exchange, _, _ = made("GET")
    assert await exchange.receive() == came(b"", more=False)
    waiting = [asyncio.create_task(exchange.receive()) for _ in range(2)]
    await settle()
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()  # of one that waits the other knows nothing
    exchange.leave()
    assert await waiting[1] == GONE


@pytest.mark.parametrize("late", [True, False])
async def test_who_wants_to_know_is_told_once_that_the_client_left(late: bool) -> None:
    exchange, _, _ = made()
    told: list[str] = []
    if late:
        exchange.leave()
    exchange.when_gone(lambda: told.append("gone"))
    assert told == (["gone"] if late else [])
    exchange.leave()
    exchange.leave()
    assert told == ["gone"]


async def test_who_has_the_whole_answer_does_not_leave() -> None:
    exchange, _, _ = made()
    told: list[str] = []
    exchange.when_gone(lambda: told.append("gone"))
    await exchange.send(START)
    await exchange.send(body(b"x"))
    exchange.leave()
    assert told == []


async def test_the_end_may_come_without_bytes() -> None:
    exchange, _, _ = made(length=None)
    exchange.feed(b"x", complete=False)
    assert await exchange.receive() == came(b"x", more=True)
    exchange.feed(b"", complete=True)
    assert await exchange.receive() == came(b"", more=False)


async def test_what_came_before_the_client_left_is_told_first() -> None:
    exchange, _, _ = made(length=10)
    exchange.feed(b"he", complete=False)
    exchange.leave()
    assert await exchange.receive() == came(b"he", more=True)
    assert await exchange.receive() == GONE
    assert await exchange.receive() == GONE


async def test_room_is_told_of_when_there_was_none() -> None:
    exchange, _, owner = made(length=None)
    exchange.feed(b"x" * HELD, complete=False)
    await exchange.receive()
    assert owner.told == []
    exchange.feed(b"x" * (HELD + 1), complete=False)
    assert exchange.held > HELD
    await exchange.receive()
    assert owner.told == ["resume"]
    assert exchange.held == 0


async def test_a_client_that_waits_is_asked_for_the_body_when_the_application_does() -> None:
    exchange, wire, _ = made(length=2, expects=True)
    await settle()
    assert wire.writes == []
    waiting = asyncio.create_task(exchange.receive())
    await settle()
    assert wire.writes == [CONTINUE]
    exchange.feed(b"h", complete=False)
    await waiting
    exchange.feed(b"i", complete=True)
    await exchange.receive()
    assert wire.writes == [CONTINUE]


async def test_one_that_has_not_waited_or_has_its_answer_is_not() -> None:
    exchange, wire, _ = made(length=2, expects=True)
    exchange.feed(b"h", complete=False)
    await exchange.receive()
    exchange, wire, _ = made(length=2, expects=True)
    await exchange.send(START)
    await exchange.send(body(b"x", more=True))
    exchange.leave()
    assert await exchange.receive() == GONE
    assert CONTINUE not in wire.writes


async def test_head_and_first_piece_are_one_write_and_each_other_piece_is_one() -> None:
    exchange, wire, owner = made("GET")
    await exchange.send(START)
    assert wire.writes == []
    for piece in (b"one", b"", b"two"):
        await exchange.send(body(piece, more=True))
    await exchange.send(body(b"three"))
    assert wire.writes == [
        b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n",
        b"3\r\ntwo\r\n",
        b"5\r\nthree\r\n0\r\n\r\n",
    ]
    assert owner.told == ["answered"]
    assert await exchange.receive() == came(b"", more=False)
    assert await exchange.receive() == GONE


async def test_nothing_suspends_as_long_as_the_client_takes_it() -> None:
    exchange, wire, _ = made("GET")
    await exchange.send(START)
    with pytest.raises(StopIteration):
        exchange.send(body(b"x", more=True)).send(None)
    wire.full = True
    sending = asyncio.create_task(exchange.send(body(b"y", more=True)))
    await settle()
    assert not sending.done()
    assert wire.writes[-1] == b"1\r\ny\r\n"
    wire.room.set()
    await sending


@pytest.mark.parametrize("fault", [ConnectionAbortedError("stalled"), RuntimeError("closed")])
async def test_a_client_that_turns_out_to_be_gone(fault: Exception) -> None:
    exchange, wire, owner = made("GET")
    wire.full, wire.fault = True, fault
    await exchange.send(START)
    await exchange.send(body(b"x", more=True))
    assert owner.told == ["lost"]


async def test_one_whose_transport_is_closed_already_is_gone() -> None:
    exchange, wire, owner = made("GET")
    await exchange.send(START)
    await exchange.send(body(b"x", more=True))
    wire.shut = True
    await exchange.send(body(b"y", more=True))
    assert owner.told == ["lost"]


async def test_to_one_that_is_gone_nothing_is_sent() -> None:
    exchange, wire, owner = made("GET")
    exchange.leave()
    await exchange.send(START)
    await exchange.send(body(b"x"))
    await exchange.send(body(b"x"))
    assert (wire.writes, owner.told) == ([], [])


async def test_the_connection_may_say_that_it_ends() -> None:
    exchange, wire, owner = made("GET")
    owner.closing, owner.common = True, [(b"date", b"now")]
    await exchange.send(START)
    await exchange.send(body(b""))
    assert b"\r\ndate: now\r\n" in wire.writes[0]
    assert b"\r\nconnection: close\r\n" in wire.writes[0]


@pytest.mark.parametrize("event", [{"type": "http.response.push"}, {"type": "websocket.accept"}])
async def test_other_events_are_refused(event: dict[str, Any]) -> None:
    exchange, wire, _ = made("GET")
    with pytest.raises(RuntimeError, match=event["type"]):
        await exchange.send(event)
    assert wire.writes == []
