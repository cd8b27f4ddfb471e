"""A transport that tells a recorder all that passes, bytes as they came; and one that gives them back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import attrs
import httpx


class Recorder(Protocol):
    """Hears of each request to the upstream and of its answer."""

    def sent(self, body: bytes) -> None:
        """A request goes out."""

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer is here."""

    def read(self, data: bytes) -> None:
        """One network read."""

    def ended(self, how: str) -> None:
        """How it ended: "" for the end of the answer, "closed" when we closed it before, else what broke it."""


@attrs.frozen(eq=False)
class RecordingTransport(httpx.AsyncBaseTransport):
    """Passes everything on to another transport."""

    inner: httpx.AsyncBaseTransport
    recorder: Recorder

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; what the other transport raises leaves as it is."""
        self.recorder.sent(await request.aread())
        try:
            response = await self.inner.handle_async_request(request)
        except BaseException as error:
            self.recorder.ended(_in_words(error))
            raise
        self.recorder.answered(response.status_code, dict(response.headers))
        if (whole := _already_read(response)) is not None:
            if whole:
                self.recorder.read(whole)
            self.recorder.ended("")
        elif isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Recorded(response.stream, self.recorder)
        return response


def _already_read(response: httpx.Response) -> bytes | None:
    """The body of a response that was made with one: nobody reads its stream. None for any other."""
    try:
        return response.content
    except httpx.ResponseNotRead:
        return None


class _Recorded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self._over = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._inner:
                self._recorder.read(data)
                yield data
        except (Exception, GeneratorExit) as error:
            self._end("closed" if isinstance(error, GeneratorExit) else _in_words(error))
            raise
        self._end("")

    async def aclose(self) -> None:
        self._end("closed")
        await self._inner.aclose()

    def _end(self, how: str) -> None:
        if not self._over:
            self._over = True
            self._recorder.ended(how)


@attrs.frozen
class RecordedCall:
    """One request to an upstream and its answer.

    `sent` is the request's body, `pieces` are the network reads, `fails` is what broke the answer ("": nothing).
    `status` is 0 when no answer came at all.
    """

    sent: bytes = b""
    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    fails: str = ""


class ReplayTransport(httpx.AsyncBaseTransport):
    """A transport without a network: each request gets the answer of the next call, the last one's repeats."""

    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        self._calls = list(calls)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The next answer. Raises httpx.ConnectError where none was recorded."""
        await request.aread()
        if not self._calls:
            raise httpx.ConnectError("no call was recorded")
        call = self._calls.pop(0) if len(self._calls) > 1 else self._calls[0]
        if not call.status:
            raise httpx.ConnectError(call.fails or "no answer was recorded")
        return httpx.Response(call.status, headers=dict(call.headers), stream=_Replayed(call))


@attrs.frozen(eq=False)
class _Replayed(httpx.AsyncByteStream):
    call: RecordedCall

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.call.pieces:
            yield piece
        if self.call.fails:
            raise httpx.ReadError(self.call.fails)

    async def aclose(self) -> None:
        """Nothing is open."""


def _in_words(error: BaseException) -> str:
    text = ""
    with suppress(Exception):
        text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
