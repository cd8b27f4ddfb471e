from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from core.http1.body import AnswerBody
from core.http1.connect import connect, origin_of
from core.http1.connection import Connection
from tests.core.http1.server import Peer, always, ok, serving

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def answered(handle: Any, seconds: float | None = 5) -> AsyncIterator[tuple[AnswerBody, list[Connection]]]:
    """The body of an answer, and the connections that it gave back."""
    done: list[Connection] = []
    async with serving(handle) as server:
        connection = await connect(origin_of(httpx.Request("GET", server.url)), None, 5, lambda _: None)
        connection.begin(bodyless=False)
        connection.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        connection.last = False
        await connection.head(5)
        yield AnswerBody(connection, seconds, done.append), done
        connection.close()


def steps(gate: asyncio.Event, *pieces: bytes) -> Any:
    """Send the head; then each piece once the gate opens, which is shut again."""

    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(HEAD)
        for piece in pieces:
            await gate.wait()
            gate.clear()
            await peer.send(piece)
        await peer.gone()

    return handle


async def test_one_read_is_one_piece_and_the_end_gives_the_connection_back() -> None:
    gate = asyncio.Event()
    pieces = (b"1\r\na\r\n2\r\nbc\r\n", b"1\r\nd\r\n", b"0\r\n\r\n")
    async with answered(steps(gate, *pieces)) as (body, done):
        got = []
        gate.set()
        async for piece in body:
            got.append(piece)
            assert done == []
            gate.set()
        assert got == [b"abc", b"d"]
        assert [connection.keepable for connection in done] == [True]
        await body.aclose()
        assert [piece async for piece in body] == []
        assert len(done) == 1


async def test_a_small_answer_needs_its_connection_no_more() -> None:
    async with answered(always(ok(b"hello"))) as (body, done):
        assert len(done) == 1
        assert [piece async for piece in body] == [b"hello"]
        assert [piece async for piece in body] == []


async def test_an_empty_body_has_no_piece() -> None:
    async with answered(always(ok(b""))) as (body, done):
        assert [piece async for piece in body] == []
        assert len(done) == 1


async def test_closing_unread() -> None:
    async with answered(steps(asyncio.Event(), b"")) as (body, done):
        await body.aclose()
        await body.aclose()
        assert [connection.keepable for connection in done] == [False]
        assert [piece async for piece in body] == []


async def test_silence_gives_the_connection_back_too() -> None:
    async with answered(steps(asyncio.Event(), b""), 0.01) as (body, done):
        with pytest.raises(httpx.ReadTimeout):
            await anext(aiter(body))
        assert [connection.keepable for connection in done] == [False]


async def test_so_does_a_cancellation() -> None:
    async with answered(steps(asyncio.Event(), b"")) as (body, done):
        with anyio.move_on_after(0.01) as scope:
            async for _ in body:
                pass
        assert scope.cancelled_caught
        assert [connection.keepable for connection in done] == [False]


async def test_a_reader_that_leaves() -> None:
    gate = asyncio.Event()
    gate.set()
    async with answered(steps(gate, b"1\r\na\r\n", b"0\r\n\r\n")) as (body, done):
        async with aclosing(body) as pieces:
            assert await anext(aiter(pieces)) == b"a"
        assert [connection.keepable for connection in done] == [False]
