from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import uvloop

from core.http1 import HTTP1Transport
from core.http1.connection import Connection
from tests.core.http1.server import Peer, always, fetch, ok, post, serving

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Everything here holds on both loops."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture
async def transport(anyio_backend: object) -> AsyncIterator[HTTP1Transport]:
    made = HTTP1Transport()
    yield made
    await made.aclose()


pytestmark = pytest.mark.anyio


async def test_the_loop_is_the_one_asked_for(anyio_backend: tuple[str, dict[str, Any]]) -> None:
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop) == anyio_backend[1]["use_uvloop"]


async def test_a_response(transport: HTTP1Transport) -> None:
    wire = b"HTTP/1.1 418 I'm a teapot\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nhi"
    async with serving(always(wire)) as server:
        request = post(server.url)
        response = await transport.handle_async_request(request)
        assert await response.aread() == b"hi"
    assert (response.status_code, response.reason_phrase, response.http_version) == (418, "I'm a teapot", "HTTP/1.1")
    assert response.headers.raw == [(b"X-A", b"1"), (b"x-a", b"2"), (b"content-length", b"2")]
    assert response.request is request


async def test_under_an_httpx_client() -> None:
    wire = ok(gzip.compress(b"hello"), b"content-encoding: gzip")
    async with serving(always(wire)) as server, httpx.AsyncClient(transport=HTTP1Transport()) as client:
        for method in ("GET", "POST", "HEAD", "GET"):
            response = await client.request(method, server.url)
            assert response.content == (b"" if method == "HEAD" else b"hello")
    assert len(server.peers) == 2


async def test_one_connection_serves_many(transport: HTTP1Transport) -> None:
    chunked = HEAD + b"2\r\nhi\r\n0\r\nt: u\r\n\r\n"
    async with serving(always(b"HTTP/1.1 100 Continue\r\n\r\n", *[bytes([byte]) for byte in chunked])) as server:
        assert [await fetch(transport, post(server.url)) for _ in range(5)] == [b"hi"] * 5
    assert len(server.peers) == 1


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        ok(b"hi") + b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison",
        ok(b"hi") + b"\0\0",
    ],
)
async def test_a_connection_not_in_order_serves_no_more(transport: HTTP1Transport, wire: bytes) -> None:
    async with serving(always(wire)) as server:
        assert [await fetch(transport, post(server.url)) for _ in range(3)] == [b"hi"] * 3
    assert len(server.peers) == 3


async def test_a_body_that_ends_with_its_connection(transport: HTTP1Transport) -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\n", b"he", b"llo")

    async with serving(handle) as server:
        assert [await fetch(transport, post(server.url)) for _ in range(2)] == [b"hello"] * 2


# --- sending twice ---


async def test_a_stale_connection_costs_one_more_sending(
    transport: HTTP1Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers: list[Peer] = []

    async def handle(peer: Peer) -> None:
        peers.append(peer)
        await peer.request()
        await peer.send(ok(b"hi"))
        await peer.gone()

    monkeypatch.setattr(Connection, "usable", lambda _: True)  # the close comes when it has been looked at
    async with serving(handle) as server:
        for number in range(3):
            assert await fetch(transport, post(server.url)) == b"hi"
            assert len(peers) == number + 1
            peers[-1].hang_up()


async def test_a_request_that_the_server_took_is_not_sent_again(transport: HTTP1Transport) -> None:
    seen: list[tuple[int, int]] = []

    async def handle(peer: Peer) -> None:
        for number in range(2):
            await peer.request()
            seen.append((peer.number, number))
            if number == 0:
                await peer.send(ok(b"hi"))

    async with serving(handle) as server:
        assert await fetch(transport, post(server.url)) == b"hi"
        with pytest.raises(httpx.RemoteProtocolError, match="no answer"):
            await fetch(transport, post(server.url))
    assert seen == [(0, 0), (0, 1)]


async def test_never_a_third(transport: HTTP1Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system does not tell what the server took."""
    monkeypatch.setattr("core.http1.connection.bytes_taken", lambda _: None)
    seen: list[int] = []

    async def handle(peer: Peer) -> None:
        await peer.request()
        seen.append(peer.number)
        if peer.number < 2:
            await peer.send(HEAD, b"0\r\n\r\n")
            await gate.wait()
            await peer.request()
            seen.append(peer.number)

    gate = asyncio.Event()
    async with serving(handle) as server:
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(fetch, transport, post(server.url))
        gate.set()
        with pytest.raises(httpx.RemoteProtocolError, match="no answer"):
            await fetch(transport, post(server.url))
    assert max(seen) == 2
    assert len(seen) == 4


async def test_a_stream_is_never_sent_twice(transport: HTTP1Transport) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"a"

    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"hi"))
        await peer.request()

    async with serving(handle) as server:
        await fetch(transport, post(server.url))
        with pytest.raises(httpx.RemoteProtocolError):
            await fetch(transport, post(server.url, content()))
    assert len(server.peers) == 1


@pytest.mark.parametrize("said", [b"H", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n"])
async def test_nothing_is_sent_twice_after_a_byte(transport: HTTP1Transport, said: bytes) -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"hi"))
        await peer.request()
        await peer.send(said)

    async with serving(handle) as server:
        await fetch(transport, post(server.url))
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            await fetch(transport, post(server.url))
    assert len(server.peers) == 1


async def test_silence_on_a_kept_connection_is_not_tried_again(transport: HTTP1Transport) -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"hi"))
        await peer.gone()

    async with serving(handle) as server:
        await fetch(transport, post(server.url))
        with pytest.raises(httpx.ReadTimeout):
            await fetch(transport, post(server.url, read=0.01))
    assert len(server.peers) == 1


# --- leaving ---


async def leaves(transport: HTTP1Transport, leave: Any, *before: bytes) -> None:
    """That the server sees the connection closed once the client left in the middle of an answer."""
    left = asyncio.Event()
    there = asyncio.Event()

    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(*before)
        there.set()
        await peer.gone()
        left.set()

    async with serving(handle) as server:
        work: Coroutine[Any, Any, None] = leave(transport, post(server.url), there)
        with anyio.fail_after(5):
            await work
            await left.wait()
    assert not transport._pool._origins


async def test_a_cancelled_wait_for_the_head(transport: HTTP1Transport) -> None:
    async def leave(transport: HTTP1Transport, request: httpx.Request, there: asyncio.Event) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fetch, transport, request)
            await there.wait()
            tasks.cancel_scope.cancel()

    await leaves(transport, leave)


async def test_a_cancelled_wait_for_the_body(transport: HTTP1Transport) -> None:
    async def leave(transport: HTTP1Transport, request: httpx.Request, there: asyncio.Event) -> None:
        response = await transport.handle_async_request(request)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(response.aread)
            await there.wait()
            tasks.cancel_scope.cancel()

    await leaves(transport, leave, HEAD, b"1\r\na\r\n")


async def test_a_response_closed_unread(transport: HTTP1Transport) -> None:
    async def leave(transport: HTTP1Transport, request: httpx.Request, there: asyncio.Event) -> None:
        response = await transport.handle_async_request(request)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await response.aclose()

    await leaves(transport, leave, HEAD, b"1\r\na\r\n")


async def test_closing_the_transport(transport: HTTP1Transport) -> None:
    async def leave(transport: HTTP1Transport, request: httpx.Request, there: asyncio.Event) -> None:
        response = await transport.handle_async_request(request)
        await transport.aclose()
        with pytest.raises(httpx.ReadError):
            await response.aread()

    await leaves(transport, leave, HEAD)


# --- limits and refusals ---


async def test_many_at_once_do_not_queue(transport: HTTP1Transport) -> None:
    everyone = asyncio.Event()
    inside = 0

    async def handle(peer: Peer) -> None:
        nonlocal inside
        await peer.request()
        inside += 1
        if inside == 120:
            everyone.set()
        await everyone.wait()
        await peer.send(ok(b"hi"))

    async with serving(handle) as server, anyio.create_task_group() as tasks:
        for _ in range(120):
            tasks.start_soon(fetch, transport, post(server.url))


async def test_a_limited_pool() -> None:
    transport = HTTP1Transport(limits=httpx.Limits(max_connections=2))
    async with serving(always(HEAD, b"1\r\na\r\n", b"0\r\n\r\n")) as server:
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(fetch, transport, post(server.url))
        assert len(server.peers) == 2
        held = [await transport.handle_async_request(post(server.url)) for _ in range(2)]
        with pytest.raises(httpx.PoolTimeout):
            await fetch(transport, post(server.url, pool=0.01))
        await held[0].aclose()
        assert await fetch(transport, post(server.url, pool=5)) == b"a"
        await held[1].aclose()
        await transport.aclose()


async def test_over_tls(certificate: tuple[Path, ssl.SSLContext]) -> None:
    transport = HTTP1Transport(ssl.create_default_context(cafile=str(certificate[0])))
    big = bytes(range(256)) * 8192

    async def handle(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(ok(big))

    async with serving(handle, certificate[1]) as server:
        for _ in range(5):
            assert await fetch(transport, post(server.url, big)) == big
        assert len(server.peers) == 1
        response = await transport.handle_async_request(post(server.url))
        await response.aclose()
        await transport.aclose()
        assert not transport._pool._origins


async def test_a_cancelled_tls_read_tells_the_server(certificate: tuple[Path, ssl.SSLContext]) -> None:
    transport = HTTP1Transport(ssl.create_default_context(cafile=str(certificate[0])))
    left = asyncio.Event()

    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(HEAD)
        await peer.gone()
        left.set()

    async with serving(handle, certificate[1]) as server:
        response = await transport.handle_async_request(post(server.url))
        with anyio.move_on_after(0.01):
            await response.aread()
        with anyio.fail_after(5):
            await left.wait()


async def test_https_needs_a_context() -> None:
    with pytest.raises(httpx.UnsupportedProtocol, match="TLS"):
        await HTTP1Transport().handle_async_request(post("https://127.0.0.1:1"))


async def test_https_towards_a_plain_server() -> None:
    transport = HTTP1Transport(ssl.create_default_context())
    async with serving(always(ok(b""))) as server:
        with pytest.raises((httpx.ConnectError, httpx.ConnectTimeout)):
            await transport.handle_async_request(post(server.url.replace("http:", "https:"), connect=0.1))


async def test_a_bad_request_touches_no_connection(transport: HTTP1Transport) -> None:
    async with serving(always(ok(b""))) as server:
        bad = httpx.Request("POST", server.url, headers={"x": "a\r\nb: c"})
        with pytest.raises(httpx.LocalProtocolError):
            await transport.handle_async_request(bad)
    assert server.peers == []


async def test_a_failing_body_leaves_no_connection(transport: HTTP1Transport) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"a"
        raise LookupError

    async with serving(always(ok(b""))) as server:
        with pytest.raises(LookupError):
            await transport.handle_async_request(post(server.url, content()))
        assert not transport._pool._origins
