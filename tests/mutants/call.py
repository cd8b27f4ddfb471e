"""Faults in entering and leaving the upstream's call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import Any

import anyio
import attrs
import httpx

from core import Chunk, Request, Route, UpstreamCall
from core.chat import Call, UpstreamClient
from tests.mutants import reference
from tests.mutants.reference import DIALECT, Correct, ReadingCall

Batches = AsyncIterator[list[Chunk]]


class _Open(Call):
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class NeverClosed(Correct):
    """Leaving the call does not close the connection."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Open(request, route, client, DIALECT)


class _Drained(ReadingCall):
    async def begin(self) -> Batches:
        batches = await super().begin()
        return self._owned(reference.Batches(batches, lambda: _read_all(batches)))


async def _read_all(batches: Batches) -> None:
    async for _ in batches:
        pass


class ReadOutOnLeaving(Correct):
    """Leaving the call first reads the answer to its end, so that the engine generates all of it."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Drained(request, route, client, DIALECT)


class _Shielded(ReadingCall):
    async def read(self, response: httpx.Response) -> AsyncGenerator[list[Chunk]]:
        async with aclosing(super().read(response)) as batches:
            while True:
                with anyio.CancelScope(shield=True):
                    chunks = await anext(batches, None)
                if chunks is None:
                    return
                yield chunks


class LeavingNotHeard(Correct):
    """A client that leaves is not noticed before the upstream's next bytes."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Shielded(request, route, client, DIALECT)


class _Collected(ReadingCall):
    async def read(self, response: httpx.Response) -> AsyncGenerator[list[Chunk]]:
        whole: list[Chunk] = []
        async with aclosing(super().read(response)) as batches:
            async for chunks in batches:
                whole += chunks
        yield whole


class CallCollectsAll(Correct):
    """All chunks are collected and given at the end: nothing streams."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Collected(request, route, client, DIALECT)


class _Begun:
    """A call that was begun when it was made."""

    def __init__(self, call: Call) -> None:
        self.inner = call
        self.entering = asyncio.ensure_future(call.__aenter__())

    async def __aenter__(self) -> Batches:
        return await self.entering

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.inner.__aexit__(kind, error, trace)


class SentBeforeEntering(Correct):
    """The request is sent when the call is made, also where it is never entered."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Begun(Call(request, route, client, DIALECT))


@attrs.frozen(eq=False)
class _Fixed(Call):
    fixed: dict[str, Any] = attrs.field(kw_only=True)

    def body(self) -> dict[str, Any]:
        return self.fixed


class BodyBuiltTooEarly(Correct):
    """The body is built when the call is made: a wrapper that changes the request changes nothing."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        built = Call(request, route, client, DIALECT).body()
        return _Fixed(request, route, client, DIALECT, fixed=built)


class _Late(Call):
    async def begin(self) -> Batches:
        return self._owned(self._later())

    async def _later(self) -> AsyncGenerator[list[Chunk]]:
        async for chunks in await super().begin():
            yield chunks


class SentAfterEntering(Correct):
    """The request is sent with the first look for chunks, so that entering never raises a refusal."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Late(request, route, client, DIALECT)


class _Twice(ReadingCall):
    async def post(self, body: bytes) -> httpx.Response:
        first = await super().post(body)
        await first.aclose()
        return await super().post(body)


class SentTwice(Correct):
    """The request is sent twice, and generated twice."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Twice(request, route, client, DIALECT)


class _Keyless(ReadingCall):
    async def post(self, body: bytes) -> httpx.Response:
        keyless = UpstreamClient(attrs.evolve(self.client.backend, key=None), self.client._transport)
        return await keyless.post(body, self.url)


class KeyNotSent(Correct):
    """The backend's key is not sent."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Keyless(request, route, client, DIALECT)
