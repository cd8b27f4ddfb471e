"""The HTTP/1.1 transport beside aiohttp's, before the same servers: what both must agree on."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Literal

import aiohttp
import attrs
import httpx
from httpx_aiohttp import AiohttpTransport
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from core.http1 import HTTP1Transport
from core.http1.answer import Answer
from tests.core.http1.answers import answers, good_answers
from tests.core.http1.server import Peer, serving

ODD = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\n[ \t]|\r[^\n]")
"""Control characters, folded lines, lone carriage returns."""

End = Literal["keep", "close", "reset"]


@attrs.frozen
class Seen:
    """One answer as a client sees it; `failed` where the head or the body ended in an error."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    reason: str
    body: bytes
    failed: bool


@st.composite
def cut(draw: st.DrawFn, wires: st.SearchStrategy[bytes]) -> tuple[bytes, ...]:
    """Bytes, in pieces."""
    wire = draw(wires)
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(wire) - 1)), max_size=3)))
    pieces = [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    return tuple(piece for piece in pieces if piece)


async def look(transport: httpx.AsyncBaseTransport, url: str, method: str) -> Seen:
    request = httpx.Request(method, url, extensions={"timeout": {"read": 10.0, "connect": 10.0}})
    try:
        response = await transport.handle_async_request(request)
    except (httpx.TransportError, aiohttp.ClientError):
        return Seen(0, (), "", b"", failed=True)
    except UnicodeError:
        reject()  # httpx-aiohttp stumbles over a reason phrase that is no UTF-8
    body = b""
    failed = False
    try:
        async for piece in response.aiter_raw():
            body += piece
    except (httpx.TransportError, aiohttp.ClientError):
        failed = True
    await response.aclose()
    return Seen(response.status_code, tuple(response.headers.raw), response.reason_phrase, body, failed)


def theirs() -> httpx.AsyncBaseTransport:
    return AiohttpTransport(verify=False, client=lambda: aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))


async def both(pieces: tuple[bytes, ...], end: End, method: str, asked: int = 1) -> Any:
    """What each of the two sees, and how many connections it used."""

    async def handle(peer: Peer) -> None:
        while await peer.request():
            await peer.send(*pieces)
            if end == "reset":
                peer.reset()
            if end != "keep":
                return

    told = []
    for transport in (HTTP1Transport(), theirs()):
        async with serving(handle) as server:
            try:
                seen = [await look(transport, server.url, method) for _ in range(asked)]
            finally:
                await transport.aclose()
            told.append((seen, len(server.peers)))
    return told


@settings(max_examples=40, deadline=None)
@given(cut(good_answers()), st.booleans())
def test_good_answers_are_the_same(pieces: tuple[bytes, ...], close: bool) -> None:
    end: End = "close" if close or ending(pieces) == "by the connection" else "keep"
    (ours, mine), (others, _) = asyncio.run(both(pieces, end, "GET", asked=2))
    assert ours == others
    assert not any(seen.failed for seen in ours)
    assert mine <= 2


@settings(max_examples=20, deadline=None)
@given(cut(good_answers(head_only=True)))
def test_good_answers_to_head_are_the_same(pieces: tuple[bytes, ...]) -> None:
    (ours, _), (others, _) = asyncio.run(both(pieces, "keep", "HEAD"))
    assert ours == others
    assert not any(seen.failed for seen in ours)


@settings(max_examples=50, deadline=None)
@given(cut(answers()), st.sampled_from(("close", "reset")))
def test_bad_answers_fail_where_the_other_s_do(pieces: tuple[bytes, ...], end: End) -> None:
    """With some differences.

    Bytes behind a whole answer do not harm it, a reset is no end of a body, and lines are read more strictly.
    """
    ((ours,), _), ((others,), _) = asyncio.run(both(pieces, end, "GET"))
    if ours.failed and ODD.search(b"".join(pieces)):
        return
    found = ending(pieces)
    if found == "too late":
        assert not ours.failed
    elif found == "by the connection" and end == "reset":
        assert ours.failed
    else:
        assert ours.failed == others.failed
    if not ours.failed and not others.failed:
        assert ours == others
    # Of a body that breaks off, ours gives all that had come, the other sometimes less.
    assert ours.body.startswith(others.body)


def ending(pieces: tuple[bytes, ...]) -> Literal["itself", "by the connection", "too late", "not"]:
    """How an answer ends on the wire."""
    wire = b"".join(pieces)
    answer = Answer()
    try:
        for index in range(len(wire)):
            answer.feed(wire[index : index + 1])
            if answer.complete:
                return "itself" if index == len(wire) - 1 else "too late"
        answer.feed_eof()
    except httpx.RemoteProtocolError:
        return "not"
    return "by the connection"
