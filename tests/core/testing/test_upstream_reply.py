from __future__ import annotations

import httpx
import pytest

from core.testing import Framing, MockUpstream, UpstreamAnswer, UpstreamReply

pytestmark = pytest.mark.anyio


async def fetch(reply: UpstreamReply, method: str = "GET") -> httpx.Response:
    async with MockUpstream(reply) as upstream, httpx.AsyncClient() as client:
        return await client.request(method, upstream.root)


async def read_all(url: str, pieces: list[bytes]) -> None:
    async with httpx.AsyncClient() as client, client.stream("GET", url) as answer:
        async for piece in answer.aiter_raw():
            pieces.append(piece)  # noqa: PERF401 - what came before the break is wanted


async def test_json_with_status_and_headers() -> None:
    answer = await fetch(UpstreamReply.json({"a": "é"}, status=429, headers={"retry-after": "3"}))
    assert (answer.status_code, answer.json(), answer.headers["retry-after"]) == (429, {"a": "é"}, "3")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["transfer-encoding"] == "chunked"


async def test_sse_items_and_framing() -> None:
    answer = await fetch(UpstreamReply.sse([{"a": 1}, "as it is"], framing=Framing(eol="\r\n", done=False)))
    assert answer.content == b'data: {"a":1}\r\n\r\ndata: as it is\r\n\r\n'
    assert answer.headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_in_either_form(stream: bool) -> None:
    reply = UpstreamReply.answer(UpstreamAnswer(), stream=stream, cut=1)
    assert (await fetch(reply)).content == UpstreamAnswer().wire(stream=stream)


@pytest.mark.parametrize("cut", [0, 1, 4])
@pytest.mark.parametrize("chunked", [True, False])
async def test_cutting_changes_nothing(cut: int, chunked: bool) -> None:
    answer = await fetch(UpstreamReply(b"abcdefghi", cut=cut, chunked=chunked))
    assert answer.content == b"abcdefghi"
    assert ("content-length" in answer.headers) is not chunked


async def test_an_unknown_status_and_head() -> None:
    assert (await fetch(UpstreamReply(b"x", status=498))).status_code == 498
    answer = await fetch(UpstreamReply(b"x", chunked=False), "HEAD")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("chunked", [True, False])
async def test_closed_before_the_end(chunked: bool) -> None:
    pieces: list[bytes] = []
    async with MockUpstream(UpstreamReply(b"abcdef", stop_after=4, end="close", chunked=chunked)) as upstream:
        with pytest.raises(httpx.RemoteProtocolError):
            await read_all(upstream.root, pieces)
    assert b"".join(pieces) == b"abcd"


async def test_reset() -> None:
    async with MockUpstream(UpstreamReply(b"abcdef", end="reset")) as upstream, httpx.AsyncClient() as client:
        with pytest.raises(httpx.ReadError):
            await client.get(upstream.root)
        assert (await upstream.exchange()).outcome == "served"
