"""Faults in telling what the upstream refused, and in keeping secrets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import attrs
import httpx

from core import Chunk, Request, Route, UpstreamCall, UpstreamError
from core.chat import Call, UpstreamClient
from core.chat.address import chat_url
from core.chat.failures import failure
from core.chat.transport import NETWORK_ERRORS
from tests.mutants.reference import DIALECT, Correct, ReadingCall


class _Refusals(Correct):
    """A backend that raises each refusal as `told` makes it."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Retold(request, route, client, DIALECT, plugin=self)

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        return error


@attrs.frozen(eq=False)
class _Retold(Call):
    plugin: _Refusals = attrs.field(kw_only=True)

    async def __aenter__(self) -> AsyncIterator[list[Chunk]]:
        try:
            return await super().__aenter__()
        except UpstreamError as error:
            raise self.plugin.told(error, self.client) from error


class RefusalIs500(_Refusals):
    """Every refusal becomes a 500, whatever the upstream's status was."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        return UpstreamError(error.message, retry_after=error.retry_after, should_retry=error.should_retry)


class RetryAfterLost(_Refusals):
    """The upstream's retry-after is lost."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        return UpstreamError(error.message, kind=error.kind, status=error.status, should_retry=error.should_retry)


class RefusalWithoutWords(_Refusals):
    """The upstream's own words are lost."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        words = "the upstream refused the request"
        return UpstreamError(words, kind=error.kind, status=error.status, retry_after=error.retry_after)


class SpentQuotaIsRetried(_Refusals):
    """The client is not told that trying again is of no use."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        return UpstreamError(error.message, kind=error.kind, status=error.status, retry_after=error.retry_after)


class KeyRefusedIs401(_Refusals):
    """A refusal of the gateway's key becomes a 401: the client doubts its own."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        return UpstreamError(error.message, kind="authentication") if "credentials" in error.message else error


class AddressInError(_Refusals):
    """The upstream's address is in an error."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        words = f"{client.backend.url}: {error.message}"
        return UpstreamError(words, kind=error.kind, status=error.status, retry_after=error.retry_after)


class KeyInError(_Refusals):
    """The backend's key is in an error."""

    def told(self, error: UpstreamError, client: UpstreamClient) -> UpstreamError:
        key = client.backend.key.reveal() if client.backend.key else ""
        return UpstreamError(f"{error.message} (key {key})", kind=error.kind, status=error.status)


class _Answering(Call):
    async def __aenter__(self) -> AsyncIterator[list[Chunk]]:
        try:
            return await super().__aenter__()
        except UpstreamError as error:
            return _saying(error.message)


async def _saying(words: str) -> AsyncGenerator[list[Chunk]]:
    yield [{"choices": [{"index": 0, "delta": {"content": words}, "finish_reason": "stop"}]}]


class RefusalIsAnAnswer(Correct):
    """A refusal becomes the text of an answer with status 200."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Answering(request, route, client, DIALECT)


class _OwnPost(ReadingCall):
    async def post(self, body: bytes) -> httpx.Response:
        request = self.client.http.build_request("POST", chat_url(self.client.backend.url), content=body)
        response = await self.client.http.send(request, stream=True)
        if response.is_success:
            return response
        raise failure(response.status_code, response.headers, await response.aread())


class UpstreamWordsUnchecked(Correct):
    """The upstream's words are passed on with the key that it repeats in them."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _OwnPost(request, route, client, DIALECT)


class _Escaping(ReadingCall):
    async def read(self, response: httpx.Response) -> AsyncGenerator[list[Chunk]]:
        async with aclosing(super().read(response)) as batches:
            try:
                async for chunks in batches:
                    yield chunks
            except UpstreamError as error:
                raise error.__cause__ or error  # noqa: B904


class NetworkErrorEscapes(Correct):
    """A connection that breaks raises the transport's own exception."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Escaping(request, route, client, DIALECT)


class _Guessing(ReadingCall):
    async def post(self, body: bytes) -> httpx.Response:
        try:
            return await super().post(body)
        except UpstreamError as error:
            if isinstance(error.__cause__, NETWORK_ERRORS):
                raise UpstreamError("the request is not valid", kind="invalid_request") from error
            raise


class UnreachableIsTheClientsFault(Correct):
    """An upstream that cannot be reached is told as a fault of the request."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Guessing(request, route, client, DIALECT)
