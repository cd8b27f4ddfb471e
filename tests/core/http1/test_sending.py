from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from core.http1.connect import connect, origin_of
from core.http1.head import request_head
from core.http1.sending import send, whole_body
from tests.core.http1.server import Handler, Peer, ok, post, serving

pytestmark = pytest.mark.anyio


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


class Sent:
    """What a server saw of one request, and what became of the connection."""

    seen = b""
    status = 0
    keepable = False


async def sent(request: httpx.Request, *, handle: Handler | None = None, seconds: float = 5) -> Sent:
    found = Sent()

    async def read_all(peer: Peer) -> None:
        found.seen = await peer.request()
        await peer.send(ok(b""))
        await peer.gone()

    async with serving(handle or read_all) as server:
        connection = await connect(origin_of(httpx.Request("GET", server.url)), None, 5, lambda _: None)
        try:
            await send(connection, request, request_head(request), seconds)
            await connection.head(5)
            found.status = connection.answer.status
            while await connection.read(5):
                pass
            found.keepable = connection.keepable
        finally:
            connection.close()
    return found


@pytest.mark.parametrize("content", [b"", b"{}", bytes(3_000_000)])
async def test_a_body_of_bytes(content: bytes) -> None:
    found = await sent(post("http://host", content))
    head, _, body = found.seen.partition(b"\r\n\r\n")
    assert body == content
    assert b"content-length: %d" % len(content) in head.lower()
    assert found.keepable


async def test_a_stream_is_chunked() -> None:
    found = await sent(post("http://host", pieces(b"ab", b"", b"c" * 17)))
    assert found.seen.endswith(b"\r\n\r\n2\r\nab\r\n11\r\n" + b"c" * 17 + b"\r\n0\r\n\r\n")
    assert found.keepable


async def test_a_stream_of_known_length_is_not() -> None:
    request = httpx.Request("POST", "http://host", content=pieces(b"ab", b"c"), headers={"content-length": "3"})
    found = await sent(request)
    assert found.seen.endswith(b"\r\n\r\nabc")
    assert found.keepable


async def test_bytes_may_be_chunked_if_so_declared() -> None:
    request = httpx.Request("POST", "http://host", content=b"abc", headers={"transfer-encoding": "chunked"})
    del request.headers["content-length"]
    assert (await sent(request)).seen.endswith(b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")


@pytest.mark.parametrize("declared", ["2", "4"])
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_body_of_another_length_than_declared(declared: str, streamed: bool) -> None:
    content = pieces(b"a", b"bc") if streamed else b"abc"
    with pytest.raises(httpx.LocalProtocolError, match="declared as"):
        await sent(httpx.Request("POST", "http://host", content=content, headers={"content-length": declared}))


async def test_a_request_that_ends_its_connection() -> None:
    assert not (await sent(httpx.Request("GET", "http://host", headers={"connection": "close"}))).keepable


async def test_a_stream_that_is_none() -> None:
    request = httpx.Request("POST", "http://host", content=iter([b"a"]))
    with pytest.raises(TypeError):
        await sent(request)


async def refuse(peer: Peer) -> None:
    await peer.head()
    await peer.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")


async def test_an_answer_before_the_body_was_sent() -> None:
    found = await sent(post("http://host", bytes(20_000_000)), handle=refuse)
    assert (found.status, found.keepable) == (413, False)


async def test_a_refused_stream_is_sent_no_further() -> None:
    asked = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal asked
        while True:
            asked += 1
            await asyncio.sleep(0)
            yield bytes(1000)

    async def refuse_and_wait(peer: Peer) -> None:
        await refuse(peer)
        await peer.gone()

    found = await sent(post("http://host", endless()), handle=refuse_and_wait)
    assert (found.status, found.keepable) == (413, False)
    assert asked > 0


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_server_that_reads_no_body(streamed: bool) -> None:
    async def handle(peer: Peer) -> None:
        await peer.head()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await release.wait()

    release = asyncio.Event()
    content = pieces(*([bytes(1_000_000)] * 50)) if streamed else bytes(50_000_000)
    try:
        with pytest.raises(httpx.WriteTimeout):
            await sent(post("http://host", content), handle=handle, seconds=0.02)
    finally:
        release.set()


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_a_server_that_leaves_in_the_middle(how: str) -> None:
    async def handle(peer: Peer) -> None:
        await peer.head()
        if how == "reset":
            peer.reset()

    with pytest.raises((httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError)):
        await sent(post("http://host", bytes(50_000_000)), handle=handle)


async def test_which_bodies_can_be_sent_twice() -> None:
    assert whole_body(post("http://host", b"ab")) == b"ab"
    assert whole_body(post("http://host", pieces(b"ab"))) is None
