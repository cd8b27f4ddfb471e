from __future__ import annotations

import time

import anyio
import httpx
import pytest

from core.testing import Exchange, MockUpstream, UpstreamAnswer, UpstreamReply

pytestmark = pytest.mark.anyio


async def test_serves_an_answer_as_the_request_asks_and_records_it() -> None:
    answer = UpstreamAnswer(text="Hi")
    async with MockUpstream(answer) as upstream, httpx.AsyncClient(base_url=upstream.url) as client:
        whole = await client.post("/chat/completions", json={"model": "m"}, headers={"X-Key": "k"})
        stream = await client.post("/chat/completions", json={"model": "m", "stream": True})
    assert whole.json() == answer.completion()
    assert stream.content == answer.sse()
    assert stream.headers["content-type"] == "text/event-stream"
    first, second = upstream.exchanges
    assert (first.method, first.path, first.json) == ("POST", "/v1/chat/completions", {"model": "m"})
    assert first.headers["x-key"] == "k"
    assert second.json["stream"] is True
    assert upstream.connections == 1, "the connection is kept"


async def test_steps_come_in_order_and_the_last_repeats() -> None:
    def named(exchange: Exchange) -> UpstreamReply:
        return UpstreamReply.json({"path": exchange.path})

    async with MockUpstream(UpstreamReply(b"no", status=503), named) as upstream, httpx.AsyncClient() as client:
        answers = [await client.get(f"{upstream.root}/{number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [503, 200, 200]
    assert answers[2].json() == {"path": "/2"}


async def test_held_open_until_released() -> None:
    release = anyio.Event()
    reply = UpstreamReply(b"abcdef", hold=release, hold_at=4, cut=2)
    async with (
        MockUpstream(reply) as upstream,
        httpx.AsyncClient() as client,
        client.stream("GET", upstream.root) as answer,
    ):
        pieces = answer.aiter_raw()
        assert await anext(pieces) + await anext(pieces) == b"abcd"
        exchange = await upstream.exchange()
        assert exchange.outcome == ""
        release.set()
        assert b"".join([piece async for piece in pieces]) == b"ef"
        assert await exchange.served() >= exchange.began_at


@pytest.mark.parametrize("where", ["head", "body"])
async def test_a_peer_that_leaves_is_seen_at_once(where: str) -> None:
    never = anyio.Event()
    reply = UpstreamReply(b"ab", hold_head=never) if where == "head" else UpstreamReply(b"ab", hold=never)
    async with MockUpstream(reply) as upstream:
        async with httpx.AsyncClient() as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.get, upstream.root)
            exchange = await upstream.exchange()
            left_at = time.monotonic()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            closed_at = await exchange.peer_closed()
    assert 0 <= closed_at - left_at < 2
    assert exchange.outcome == "closed"
    with pytest.raises(AssertionError, match="before the reply was sent"):
        await exchange.served()


async def test_a_peer_that_reads_everything_did_not_close() -> None:
    async with MockUpstream() as upstream, httpx.AsyncClient() as client:
        await client.post(upstream.root, json={})
        exchange = await upstream.exchange()
        with pytest.raises(AssertionError, match="was served whole"):
            await exchange.peer_closed()


async def test_a_peer_that_leaves_while_much_is_sent() -> None:
    async with MockUpstream(UpstreamReply(b"x" * 50_000_000)) as upstream, httpx.AsyncClient() as client:
        async with client.stream("GET", upstream.root):
            exchange = await upstream.exchange()
        with anyio.fail_after(5):
            await exchange.peer_closed()
    assert exchange.outcome == "closed"


async def test_two_connections_at_once() -> None:
    release = anyio.Event()
    held = UpstreamReply(b"held", hold_head=release)
    async with (
        MockUpstream(held, UpstreamReply(b"quick")) as upstream,
        httpx.AsyncClient() as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(client.get, upstream.root)
        await upstream.exchange()
        assert (await client.get(upstream.root)).content == b"quick"
        release.set()
    assert upstream.connections == 2


async def test_leaving_ends_what_is_held() -> None:
    async with httpx.AsyncClient() as client, anyio.create_task_group() as tasks:

        async def ask(url: str) -> None:
            with pytest.raises(httpx.TransportError):
                await client.get(url)

        async with MockUpstream(UpstreamReply(hold_head=anyio.Event())) as upstream:
            tasks.start_soon(ask, upstream.root)
            await upstream.exchange()
    with pytest.raises(RuntimeError, match="is not running"):
        _ = upstream.url


def test_in_a_thread() -> None:
    release = anyio.Event()
    with (
        MockUpstream(UpstreamReply(b"ok", hold=release)).in_thread() as upstream,
        httpx.Client() as client,
        client.stream("GET", upstream.root) as answer,
    ):
        exchange = upstream.portal.call(upstream.exchange)
        upstream.portal.call(release.set)
        assert answer.read() == b"ok"
        assert upstream.portal.call(exchange.served) > 0
    with pytest.raises(RuntimeError, match="in_thread"):
        _ = upstream.portal
