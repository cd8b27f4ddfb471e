"""One upstream answer as it comes: reads to lists of chunks, and its end."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from typing import Self

import anyio
import httpx

from core.chat.chunks import ChunkReader
from core.chat.completion import Chunk
from core.chat.pace import Pace
from core.chat.restore import restore_names
from core.chat.transport import NETWORK_ERRORS, network_error
from core.errors import UpstreamError

DRAIN = 0.25
"""Seconds that a finished answer may take to end its connection's turn, so that the connection can be kept."""


class UpstreamChunks:
    """The chunks of each read, with the client's names of its tools in the place of the engine's (`names`).

    `last_words` are the seconds that may follow the finish_reason. An iterator and no generator: what it costs per read
    is paid for every token of a slow stream.
    """

    def __init__(
        self, response: httpx.Response, reader: ChunkReader, names: Mapping[str, str], last_words: float
    ) -> None:
        self._response = response
        self._reader = reader
        self._names = names
        self._last_words = last_words
        self._reads: AsyncIterator[bytes] = aiter(
            response.aiter_bytes() if "content-encoding" in response.headers else _stream(response)
        )
        self._pace = Pace()
        self._end = math.inf
        self._flushed = self._over = self._exhausted = False
        self._failure: UpstreamError | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Chunk]:
        reader = self._reader
        while not self._flushed:
            # Of one read the chunks come first, then what it says went wrong.
            if reader.error is not None or reader.done:
                break
            since = time.monotonic()
            try:
                data = await (anext(self._reads, None) if self._end == math.inf else self._before_end())
                self._exhausted = data is None and self._end == math.inf
            except NETWORK_ERRORS as error:
                chunks = self._flush(error)
            else:
                if self._pace.over(since):
                    await self._pace.rest()
                chunks = self._flush() if data is None else reader.feed(data)
            if reader.finished and self._end == math.inf and not self._flushed:
                self._end = anyio.current_time() + self._last_words
            if chunks:
                if self._names:
                    restore_names(chunks, self._names)
                return chunks
        failure = self._failure or reader.error
        if self._over or failure is None:
            raise StopAsyncIteration
        self._over = True
        raise failure

    async def aclose(self) -> None:
        """End the answer. After a whole one the last bytes are read first, or the connection could not be kept."""
        try:
            with suppress(*NETWORK_ERRORS):
                if self._reader.done and not self._exhausted:
                    with anyio.move_on_after(DRAIN):
                        async for _ in self._reads:
                            pass
                if isinstance(self._reads, AsyncGenerator):
                    await self._reads.aclose()
        finally:
            with suppress(*NETWORK_ERRORS):
                await self._response.aclose()

    async def _before_end(self) -> bytes | None:
        """The next read; None when there is none in time: some servers go silent at the end, or never do."""
        if anyio.current_time() < self._end:
            with anyio.CancelScope(deadline=self._end):
                return await anext(self._reads, None)
        return None

    def _flush(self, broken: Exception | None = None) -> list[Chunk]:
        """What is left when no read follows."""
        self._flushed = True
        chunks = self._reader.flush()
        # After the finish_reason only counts can be missing: the client has its whole answer.
        if broken is not None and not self._reader.finished:
            self._failure = network_error(broken)
            self._failure.__cause__ = broken
        return chunks


def _stream(response: httpx.Response) -> httpx.AsyncByteStream:
    stream = response.stream
    if not isinstance(stream, httpx.AsyncByteStream):
        raise UpstreamError("the transport gave no byte stream")
    return stream
