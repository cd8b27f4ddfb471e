"""Faults in reading Quokka's errors, and in what else is an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import httpx

from core import Chunk, Request, Route, UpstreamCall, UpstreamError
from core.chat import Call, ChunkReader, Problem, UpstreamClient
from tests.mutants.odd.quokka import DIALECT, KINDS, PROBLEM, Quokka
from tests.mutants.reference import ReadingCall


class _Problems(Quokka):
    problem: ClassVar[Any] = None

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return Call(request, route, client, DIALECT, problem=self.problem)


class ProblemsUnread(_Problems):
    """The engine's errors are not read."""


class RetryUnread(_Problems):
    """The header `retry-in` is not read."""

    problem = attrs.evolve(PROBLEM, retry_after="retry-after")


class KindsUnread(_Problems):
    """The kinds of its errors have no meaning."""

    problem = attrs.evolve(PROBLEM, words={})


class TooLongUnread(_Problems):
    """A prompt that is too long is an error like any other."""

    problem = attrs.evolve(
        PROBLEM, words={word: meaning for word, meaning in KINDS.items() if word != "prompt_too_long"}
    )


class WhyUnread(_Problems):
    """The words of its errors are lost."""

    problem = attrs.evolve(PROBLEM, message="message", word="type")


def _text_alone(body: Any, headers: Mapping[str, str]) -> Problem | None:
    told = body.get("problem") if isinstance(body, dict) else None
    return PROBLEM(body, headers) if isinstance(told, str) else None


class ProblemAsText(_Problems):
    """Only a `problem` that is a text is read."""

    problem: ClassVar[Any] = staticmethod(_text_alone)


class ProblemsInStreamsUnread(Quokka):
    """Its errors are read in refusals alone."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _RefusalsAlone(request, route, client, DIALECT)


class _RefusalsAlone(ReadingCall):
    """Reads the engine's errors in refusals; what comes with status 200 is the reader's part."""

    async def post(self, body: bytes) -> httpx.Response:
        return await self.client.post(body, self.url, PROBLEM)


class RefusalsUnread(Quokka):
    """Its errors are read in streams and bodies alone."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return ReadingCall(request, route, client, DIALECT, reader=_reader)


def _reader(hide: Sequence[str]) -> ChunkReader:
    return ChunkReader(hide, PROBLEM, {})


class KeyInWords(Quokka):
    """The engine's words are passed on with the key and the address in them."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _RefusalsAlone(request, route, client, DIALECT, reader=lambda _: ChunkReader((), PROBLEM, {}))


class DoneAwaited(Quokka):
    """A stream that closes without [DONE] is taken for one that broke off."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _RefusalsAlone(request, route, client, DIALECT, reader=lambda hide: _Awaiting(hide, PROBLEM, {}))


class _Awaiting(ChunkReader):
    def flush(self) -> list[Chunk]:
        chunks = super().flush()
        if not self.done and self.error is None:
            self.error = UpstreamError("the upstream's answer was cut off", status=502)
        return chunks
