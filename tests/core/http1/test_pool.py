from __future__ import annotations

import asyncio

import httpx
import pytest

from core.http1.connect import Origin, origin_of
from core.http1.connection import Connection
from core.http1.pool import Pool
from tests.core.http1.server import always, ok, serving

pytestmark = pytest.mark.anyio

TIMES = {"connect": 5.0, "pool": 5.0}


def at(url: str) -> Origin:
    return origin_of(httpx.Request("GET", url))


def pool(**limits: float | None) -> Pool:
    return Pool(None, httpx.Limits(**limits))  # type: ignore[arg-type]


async def exchange(connection: Connection) -> None:
    connection.begin(bodyless=False)
    connection.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    connection.last = False
    await connection.head(5)


async def test_the_one_used_last_goes_first() -> None:
    async with serving(always(ok(b""))) as server:
        some = pool()
        first, second = [await some.take(at(server.url), TIMES) for _ in range(2)]
        for connection in (first, second):
            await exchange(connection)
            some.give_back(connection)
        assert await some.take(at(server.url), TIMES) is second
        assert await some.take(at(server.url), TIMES) is first
        assert await some.take(at(server.url), TIMES) not in (first, second)
        await some.aclose()
        assert first.closed


async def test_a_fresh_one_when_it_must_be() -> None:
    async with serving(always(ok(b""))) as server:
        some = pool()
        first = await some.take(at(server.url), TIMES)
        await exchange(first)
        some.give_back(first)
        assert await some.take(at(server.url), TIMES, fresh=True) is not first
        assert not first.closed
        await some.aclose()


async def test_servers_share_nothing() -> None:
    async with serving(always(ok(b""))) as server, serving(always(ok(b""))) as other:
        some = pool()
        first = await some.take(at(server.url), TIMES)
        await exchange(first)
        some.give_back(first)
        assert await some.take(at(other.url), TIMES) is not first
        await some.aclose()


async def test_one_not_in_order_is_closed() -> None:
    async with serving(always(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")) as server:
        some = pool()
        connection = await some.take(at(server.url), TIMES)
        await exchange(connection)
        some.give_back(connection)
        assert connection.closed


async def test_one_known_to_be_dead_is_never_given() -> None:
    async with serving(always(ok(b""))) as server:
        some = pool()
        first = await some.take(at(server.url), TIMES)
        await exchange(first)
        some.give_back(first)
        server.peers[0].writer.get_extra_info("socket")._sock.shutdown(2)
        assert await some.take(at(server.url), TIMES) is not first
        assert first.closed
        await some.aclose()


async def test_idle_ones_are_limited() -> None:
    async with serving(always(ok(b""))) as server:
        some = pool(max_keepalive_connections=1)
        first, second = [await some.take(at(server.url), TIMES) for _ in range(2)]
        for connection in (first, second):
            await exchange(connection)
            some.give_back(connection)
        assert (first.closed, second.closed) == (False, True)
        await some.aclose()


async def test_all_are_limited_and_who_waits_gets_the_next() -> None:
    async with serving(always(ok(b""))) as server:
        some = pool(max_connections=1)
        first = await some.take(at(server.url), TIMES)
        with pytest.raises(httpx.PoolTimeout):
            await some.take(at(server.url), {"pool": 0.01})
        waiting = asyncio.create_task(some.take(at(server.url), {"pool": None}))
        await exchange(first)
        assert not waiting.done()
        some.give_back(first)
        assert await waiting is first
        await some.aclose()


async def test_a_waiter_that_leaves_takes_no_place_with_it() -> None:
    async with serving(always(ok(b""))) as server:
        some = pool(max_connections=1)
        first = await some.take(at(server.url), TIMES)
        waiting = asyncio.create_task(some.take(at(server.url), TIMES))
        await asyncio.sleep(0)
        some.give_back(first)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await some.take(at(server.url), TIMES)
        await some.aclose()


async def test_an_idle_one_makes_room_for_another_server() -> None:
    async with serving(always(ok(b""))) as server, serving(always(ok(b""))) as other:
        some = pool(max_connections=1)
        first = await some.take(at(server.url), TIMES)
        await exchange(first)
        some.give_back(first)
        second = await some.take(at(other.url), TIMES)
        assert (first.closed, second.closed) == (True, False)
        await some.aclose()


async def test_connections_on_their_way_count_too() -> None:
    async with serving(always(ok(b""))) as server, serving(always(ok(b""))) as other:
        some = pool(max_connections=2)
        first = await some.take(at(server.url), TIMES)
        await exchange(first)
        some.give_back(first)
        await asyncio.gather(*(some.take(at(other.url), TIMES) for _ in range(2)))
        assert first.closed
        assert len(some._origins) == 2
        await some.aclose()


async def test_a_failed_connection_takes_no_place() -> None:
    some = pool(max_connections=1)
    async with serving(always(ok(b""))) as server:
        url = server.url
    for _ in range(3):
        with pytest.raises(httpx.ConnectError):
            await some.take(at(url), TIMES)
