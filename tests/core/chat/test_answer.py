from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from core.chat.answer import UpstreamChunks
from core.chat.chunks import ChunkReader
from core.chat.completion import Chunk
from core.errors import UpstreamError
from core.testing import UpstreamAnswer

pytestmark = pytest.mark.anyio

ANSWER = UpstreamAnswer(text="Hello there.")
WIRE = ANSWER.sse()


class Reads(httpx.AsyncByteStream):
    """Pieces, then a failure or silence; knows how far it was read and whether it was closed."""

    def __init__(self, *pieces: bytes, fails: Exception | None = None, hangs: bool = False) -> None:
        self._pieces, self._fails, self._hangs = pieces, fails, hangs
        self.read = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.read += 1
            yield piece
        if self._fails is not None:
            raise self._fails
        if self._hangs:
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        self.closed = True


def answer_of(reads: Reads, last_words: float = 5.0, **how: Any) -> UpstreamChunks:
    return UpstreamChunks(httpx.Response(200, stream=reads, **how), ChunkReader(), {}, last_words)


async def told(answer: UpstreamChunks) -> tuple[str, str]:
    """The text, and the error."""
    chunks: list[Chunk] = []
    error = ""
    try:
        async for some in answer:
            chunks += some
    except UpstreamError as failure:
        error = failure.message
    with pytest.raises(StopAsyncIteration):
        await anext(answer)
    text = "".join(choice["delta"].get("content") or "" for each in chunks for choice in each["choices"])
    return text, error


async def test_a_whole_answer_is_read_to_its_end_and_closed() -> None:
    reads = Reads(WIRE, b": nothing more\n\n")
    answer = answer_of(reads)
    assert await told(answer) == ("Hello there.", "")
    assert (reads.read, reads.closed) == (1, False)
    await answer.aclose()
    assert (reads.read, reads.closed) == (2, True)


async def test_an_answer_that_is_left_is_closed_at_once() -> None:
    reads = Reads(WIRE[:300], WIRE[300:])
    answer = answer_of(reads)
    await anext(answer)
    await answer.aclose()
    assert (reads.read, reads.closed) == (1, True)


async def test_an_end_that_never_comes_costs_no_more_than_its_time() -> None:
    reads = Reads(WIRE.partition(b"data: [DONE]")[0], hangs=True)
    with anyio.fail_after(5):
        assert await told(answer_of(reads, last_words=0.01)) == ("Hello there.", "")


@pytest.mark.parametrize(
    ("wire", "text", "error"),
    [
        (WIRE[:-400], "Hello there.", "the upstream broke the connection"),
        (WIRE.partition(b"data: [DONE]")[0], "Hello there.", ""),
    ],
)
async def test_a_connection_that_breaks(wire: bytes, text: str, error: str) -> None:
    reads = Reads(wire, fails=httpx.ReadError("reset"))
    found, said = await told(answer_of(reads))
    assert text.startswith(found)
    assert said == error


async def test_an_error_comes_behind_the_chunks_of_its_read() -> None:
    begin = WIRE.partition(b'"finish_reason":"stop"')[0].rpartition(b"data: ")[0]
    reads = Reads(begin + b'data: {"error": {"message": "boom"}}\n\n', WIRE)
    assert await told(answer_of(reads)) == ("Hello there.", "boom")
    assert reads.read == 1


async def test_a_body_that_is_encoded_is_decoded() -> None:
    import gzip  # noqa: PLC0415

    reads = Reads(gzip.compress(ANSWER.json()))
    assert await told(answer_of(reads, headers={"content-encoding": "gzip"})) == ("Hello there.", "")


async def test_names_are_restored() -> None:
    call = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"alias"}}]}}]}\n\n'
    answer = UpstreamChunks(httpx.Response(200, stream=Reads(call)), ChunkReader(), {"alias": "name"}, 1.0)
    (chunk,) = await anext(answer)
    assert chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] == "name"
