from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import anyio
import pytest

from core.cut import Cut
from core.sink import PIECE, Sink

pytestmark = pytest.mark.anyio

HEADERS = [(b"a", b"b")]


async def sent(*pieces: tuple[bytes, bool], close: bool = False) -> list[MutableMapping[str, Any]]:
    events: list[MutableMapping[str, Any]] = []

    async def send(event: MutableMapping[str, Any]) -> None:
        assert sink.since > 0
        events.append(event)

    sink = Sink(send, Cut().now)
    sink.close = close
    await sink.start(200, HEADERS)
    assert events == []
    for data, more in pieces:
        await sink.send(data, more)
        assert sink.since == 0
    return events


async def test_the_head_goes_with_the_first_bytes_and_knows_the_length_of_a_whole_body() -> None:
    head, body = await sent((b"abc", False))
    assert head == {"type": "http.response.start", "status": 200, "headers": [*HEADERS, (b"content-length", b"3")]}
    assert body == {"type": "http.response.body", "body": b"abc", "more_body": False}
    head, *pieces = await sent((b"a", True), (b"", False), close=True)
    assert head["headers"] == [*HEADERS, (b"connection", b"close")]
    assert [(piece["body"], piece["more_body"]) for piece in pieces] == [(b"a", True), (b"", False)]


async def test_a_large_body_goes_in_pieces_and_each_that_is_taken_begins_the_clock_anew() -> None:
    data = bytes(range(256)) * 600
    head, *pieces = await sent((data, False))
    assert head["headers"] == [*HEADERS, (b"content-length", b"153600")]
    assert b"".join(piece["body"] for piece in pieces) == data
    assert [(len(piece["body"]), piece["more_body"]) for piece in pieces] == [
        (PIECE, True),
        (PIECE, True),
        (len(data) - 2 * PIECE, False),
    ]
    _, *pieces = await sent((data[:PIECE] * 2, True), (b"", False))
    assert [(len(piece["body"]), piece["more_body"]) for piece in pieces] == [(PIECE, True), (PIECE, True), (0, False)]
    times: list[float] = []

    async def send(event: MutableMapping[str, Any]) -> None:
        times.append(sink.since)
        await asyncio.sleep(0.002)  # so that the clock has moved

    sink = Sink(send, Cut().now)
    await sink.start(200, ())
    await sink.send(data, True)
    assert times[0] == times[1] < times[2] < times[3]


async def test_a_broken_socket_is_a_client_that_is_gone() -> None:
    async def send(event: MutableMapping[str, Any]) -> None:
        raise BrokenPipeError

    sink = Sink(send, Cut().now)
    await sink.start(200, ())
    with pytest.raises(BrokenPipeError):
        await sink.send(b"a", True)
    assert sink.gone


async def test_giving_up_cancels() -> None:
    async def send(event: MutableMapping[str, Any]) -> None:
        """Takes all."""

    with anyio.fail_after(5), Cut() as cut:
        sink = Sink(send, cut.now)
        sink.give_up()
        await anyio.sleep_forever()
    assert sink.gone
