from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from core.http1.connect import connect, origin_of
from core.http1.connection import READ_AHEAD, Connection
from tests.core.http1.server import Handler, Peer, always, ok, serving

pytestmark = pytest.mark.anyio

REQUEST = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


@asynccontextmanager
async def connected(handle: Handler) -> AsyncIterator[tuple[Connection, list[Connection]]]:
    """A connection, and those that were lost."""
    lost: list[Connection] = []
    async with serving(handle) as server:
        connection = await connect(origin_of(httpx.Request("GET", server.url)), None, 5, lost.append)
        yield connection, lost
        connection.close()


def ask(connection: Connection) -> None:
    connection.begin(bodyless=False)
    connection.write(REQUEST)
    connection.last = False


async def until(true: Callable[[], bool]) -> None:
    """Let the loop turn until it has come to that."""
    while not true():  # noqa: ASYNC110  what the loop itself does makes no event
        await asyncio.sleep(0)


async def closed(connection: Connection) -> None:
    await until(lambda: connection.closed)


async def test_two_exchanges() -> None:
    async with connected(always(ok(b"hello"))) as (connection, lost):
        for _ in range(2):
            ask(connection)
            await connection.head(5)
            assert [await connection.read(5), await connection.read(5)] == [b"hello", b""]
            assert connection.keepable
            connection.keep(5)
            assert connection.usable()
        assert (lost, connection.stale) == ([], False)
    assert lost == [connection]


async def test_an_exchange_not_over_keeps_nothing() -> None:
    async with connected(always(ok(b"hello"))) as (connection, _):
        assert not connection.keepable
        ask(connection)
        assert not connection.keepable
        await connection.head(5)
        connection.last = True
        assert not connection.keepable


async def test_silence_is_a_read_timeout() -> None:
    async with connected(Peer.gone) as (connection, _):
        ask(connection)
        with pytest.raises(httpx.ReadTimeout):
            await connection.head(0.01)
        assert not connection.keepable


async def test_a_stopped_reader_stops_the_server_and_loses_nothing() -> None:
    big = bytes(range(256)) * 4 * 4096

    async with connected(always(ok(big))) as (connection, _):
        ask(connection)
        await connection.head(5)
        await until(lambda: connection._paused)
        for _ in range(50):
            await asyncio.sleep(0)
        assert READ_AHEAD < connection.answer.size < len(big) / 2
        body = b""
        while piece := await connection.read(5):
            body += piece
        assert body == big
        assert connection.keepable


async def test_a_kept_connection_is_never_paused() -> None:
    async with connected(always(ok(b""))) as (connection, _):
        ask(connection)
        await connection.head(5)
        connection._paused = True
        connection._transport.pause_reading()
        connection.keep(5)
        ask(connection)
        await connection.head(5)
        assert connection.answer.status == 200


async def test_a_server_that_does_not_read() -> None:
    async def handle(peer: Peer) -> None:
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await release.wait()

    release = asyncio.Event()
    async with connected(handle) as (connection, _):
        connection.begin(bodyless=False)
        connection.write(bytes(32 * 1024 * 1024))
        with pytest.raises(httpx.WriteTimeout):
            await connection.drain(0.01)
        connection.close()
        with pytest.raises(httpx.WriteError):
            await connection.drain(0.01)
        release.set()


@pytest.mark.parametrize("data", [b"HTTP/1.1 408 Request Timeout\r\n\r\n", b"x", b"\r\n"])
async def test_an_idle_connection_that_speaks_is_closed(data: bytes) -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(data)
        await peer.gone()

    async with connected(handle) as (connection, lost):
        await closed(connection)
        assert lost == [connection]
        assert not connection.usable()


async def test_an_idle_connection_that_the_server_closes() -> None:
    async def handle(peer: Peer) -> None:
        peer.writer.close()

    async with connected(handle) as (connection, lost):
        await closed(connection)
        assert lost == [connection]


async def test_what_the_loop_has_not_read_yet_counts() -> None:
    async with serving(always()) as server:
        connection = await connect(origin_of(httpx.Request("GET", server.url)), None, 5, lambda _: None)
        await until(lambda: bool(server.peers))
        assert connection.usable()
        # Right on the socket: the loop of the client has no turn between this and the question.
        server.peers[0].writer.get_extra_info("socket")._sock.shutdown(2)
        assert not connection.closed
        assert not connection.usable()
        connection.close()


async def test_an_idle_connection_ends_by_itself() -> None:
    async with connected(always(ok(b""))) as (connection, lost):
        ask(connection)
        await connection.head(5)
        connection.keep(0.001)
        await closed(connection)
        assert lost == [connection]


@pytest.mark.parametrize("second", ["close", "reset"])
async def test_a_kept_connection_that_dies_at_once_was_stale(second: str) -> None:
    async def handle(peer: Peer) -> None:
        await peer.head()
        await peer.send(ok(b""))
        await peer.head()
        if second == "reset":
            peer.reset()

    async with connected(handle) as (connection, _):
        ask(connection)
        await connection.head(5)
        connection.keep(5)
        ask(connection)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await connection.head(5)
        assert connection.stale


async def test_one_that_dies_later_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handle(peer: Peer) -> None:
        await peer.head()
        await peer.send(ok(b""))
        await peer.head()

    async with connected(handle) as (connection, _):
        ask(connection)
        await connection.head(5)
        connection.keep(5)
        ask(connection)
        monkeypatch.setattr("core.http1.connection._STALE", 0.0)
        with pytest.raises(httpx.RemoteProtocolError):
            await connection.head(5)
        assert not connection.stale


@pytest.mark.parametrize("said", [b"", b"H", b"HTTP/1.1 100 Continue\r\n\r\n"])
@pytest.mark.parametrize("before", [0, 1])
async def test_stale_is_neither_a_first_exchange_nor_one_that_was_answered(said: bytes, before: int) -> None:
    async def handle(peer: Peer) -> None:
        for _ in range(before):
            await peer.head()
            await peer.send(ok(b""))
        await peer.head()
        await peer.send(said)

    async with connected(handle) as (connection, _):
        for _ in range(before):
            ask(connection)
            await connection.head(5)
            connection.keep(5)
        ask(connection)
        with pytest.raises(httpx.RemoteProtocolError):
            await connection.head(5)
        assert connection.stale == (before == 1 and not said)


@pytest.mark.parametrize("end", ["before", "close", "reset"])
async def test_whether_the_server_s_system_took_the_request(end: str) -> None:
    """It did not where the connection was closed before; a reset that no close came before may be of any kind."""
    peers: list[Peer] = []

    async def handle(peer: Peer) -> None:
        peers.append(peer)
        await peer.head()
        await peer.send(ok(b""))
        await peer.head()
        if end == "reset":
            peer.reset()

    async with connected(handle) as (connection, _):
        ask(connection)
        await connection.head(5)
        connection.keep(5)
        if end == "before":
            peers[0].hang_up()
        ask(connection)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await connection.head(5)
        assert (connection.stale, connection.taken) == (True, end != "before")


async def test_a_body_that_breaks_gives_what_had_come() -> None:
    async def handle(peer: Peer) -> None:
        await peer.head()
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", b"abc")

    async with connected(handle) as (connection, _):
        ask(connection)
        await connection.head(5)
        await closed(connection)
        assert await connection.read(5) == b"abc"
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError, match="before the body was complete"):
                await connection.read(5)


async def test_closing_wakes_who_waits() -> None:
    async with connected(Peer.gone) as (connection, _):
        ask(connection)
        waiting = asyncio.create_task(connection.head(5))
        await asyncio.sleep(0)
        connection.close()
        with pytest.raises(httpx.ReadError, match="was closed"):
            await waiting
