"""Faults in reading the upstream's bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final

import httpx

from core import Chunk, Request, Route, UpstreamCall, UpstreamError
from core.chat import ChunkReader, UpstreamClient
from tests.mutants.reference import DIALECT, Correct, ReadingCall

FINISH: Final[Chunk] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
"""A chunk that says: all is well."""


class _Reads(Correct):
    """A backend that reads the answer with `reader`."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return ReadingCall(request, route, client, DIALECT, reader=self.reader())

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return ChunkReader


class _Streamed(ChunkReader):
    """A reader that knows whether it reads a stream."""

    @property
    def streams(self) -> bool:
        return self._events is not None

    def break_off(self) -> None:
        """The fault: an answer that is none."""
        self.error = UpstreamError("the upstream sent an event that is not JSON", status=502)


class UTF8CutBreaks(_Reads):
    """A character whose bytes come in two reads becomes replacement characters."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _DecodesReads


class _DecodesReads(ChunkReader):
    def feed(self, data: bytes) -> list[Chunk]:
        return super().feed(data.decode("utf-8", "replace").encode())


class CRLFBreaks(_Reads):
    """A stream with lines that end in CRLF is not understood."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _OnlyLF


class _OnlyLF(ChunkReader):
    def feed(self, data: bytes) -> list[Chunk]:
        return super().feed(data.replace(b"\r", b" "))


class ReadsTakenForEvents(_Reads):
    """Each read is taken for whole events: one that is cut in two is lost."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _EachByItself


class _EachByItself(_Streamed):
    def feed(self, data: bytes) -> list[Chunk]:
        alone = _Streamed()
        chunks = alone.feed(data)
        if not alone.streams and not self.finished:
            return super().feed(data)
        self.finished, self.done = self.finished or alone.finished, alone.done
        return chunks


class LastEventLost(_Reads):
    """The last event of a stream that ends without a blank line is lost."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _Unflushed


class _Unflushed(_Streamed):
    def flush(self) -> list[Chunk]:
        return [] if self.streams else super().flush()


class OneChunkOfARead(_Reads):
    """Of the chunks that come in one read only the first is taken."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _OnlyFirst


class _OnlyFirst(ChunkReader):
    def feed(self, data: bytes) -> list[Chunk]:
        return super().feed(data)[:1]


class DoneRequired(_Reads):
    """A whole stream that ends without [DONE] is taken for one that broke off."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _WantsDone


class _WantsDone(_Streamed):
    def flush(self) -> list[Chunk]:
        chunks = super().flush()
        if not self.done and self.error is None:
            self.error = UpstreamError("the upstream's answer was cut off", status=502)
        return chunks


class DoneMisread(_Reads):
    """[DONE] is read as a chunk, and is no JSON."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _ParsesDone


class _ParsesDone(_Streamed):
    def feed(self, data: bytes) -> list[Chunk]:
        chunks = super().feed(data)
        if self.done and self.streams:
            self.break_off()
        return chunks


class DoneNotHeard(_Reads):
    """[DONE] does not end the answer: the end of the connection is waited for."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _DeafToDone


class _DeafToDone(ChunkReader):
    def feed(self, data: bytes) -> list[Chunk]:
        return super().feed(data.replace(b"data: [DONE]", b": no more"))


class DoneAloneIsNoEnd(_Reads):
    """An answer that ends with [DONE] and gave no finish_reason is taken for one that broke off."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _WantsReason


class _WantsReason(ChunkReader):
    def feed(self, data: bytes) -> list[Chunk]:
        return [chunk for chunk in super().feed(data) if chunk != FINISH]


class CommentsBreak(_Reads):
    """A comment line of the stream, as keep-alives are, is taken for data."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _NoComments


class _NoComments(_Streamed):
    def feed(self, data: bytes) -> list[Chunk]:
        chunks = super().feed(data)
        if any(line.startswith(b":") for line in data.split(b"\n")):
            self.break_off()
        return chunks


class SpaceRequired(_Reads):
    """An event whose data follows the colon without a space is not read."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _WantsSpace


class _WantsSpace(ChunkReader):
    def feed(self, data: bytes) -> list[Chunk]:
        return super().feed(data.replace(b"data:{", b"other:{"))


class ErrorChunkIsAnEnd(_Reads):
    """An error in the midst of a stream is swallowed: the answer ends as if it were whole."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _Forgiving


class _Forgiving(_Streamed):
    def feed(self, data: bytes) -> list[Chunk]:
        chunks = super().feed(data)
        if self.error is not None and self.streams:
            self.error, self.done = None, True
            chunks = [*chunks, FINISH]
        return chunks


class ErrorBodyIsAnAnswer(_Reads):
    """An error object that comes with status 200 is swallowed: the answer is empty."""

    def reader(self) -> Callable[[Sequence[str]], ChunkReader]:
        return _ForgivingBody


class _ForgivingBody(_Streamed):
    def flush(self) -> list[Chunk]:
        chunks = super().flush()
        if self.error is None or self.streams:
            return chunks
        self.error, self.done = None, True
        return [FINISH]


class _LostIsWhole(ReadingCall):
    async def read(self, response: httpx.Response) -> AsyncGenerator[list[Chunk]]:
        async with aclosing(super().read(response)) as batches:
            try:
                async for chunks in batches:
                    yield chunks
            except UpstreamError:
                yield [FINISH]


class LostConnectionIsAnEnd(Correct):
    """A connection that breaks in the midst of the answer ends it as if it were whole."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _LostIsWhole(request, route, client, DIALECT)
