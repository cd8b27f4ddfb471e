"""The client of one backend: its address, headers, connections, and requests on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import anyio
import attrs
import httpx

from core.chat.address import CHAT_PATH, chat_url
from core.chat.dialect import Dialect
from core.chat.document_cache import DocumentCache
from core.chat.failures import failure
from core.chat.hiding import credentials_of, forms_of, secrets_of
from core.chat.limits import limit_in
from core.chat.problems import Problems
from core.chat.sharing import SharedCounts
from core.chat.text import loads
from core.chat.transport import AUTHORIZATION, NETWORK_ERRORS, fixed_headers, make_transport, network_error
from core.config import BackendConfig
from core.errors import UpstreamError

ERROR_BODY_LIMIT = 256 * 1024
"""Bytes of an error body that are read."""

ANSWER_LIMIT = 16 * 1024 * 1024
"""Bytes of an answer that is no chat completion; what is cut there is no JSON any more."""

ERROR_BODY_TIME = 5.0
"""Seconds in which they must come."""


class UpstreamClient:
    """Speaks HTTP to one backend. All calls to the backend share it, and with it a pool of connections.

    `http` is a plain `httpx.AsyncClient` on the same connections, for what a plugin asks the engine besides chat.
    `counts` keeps token counting from crowding the engine, `documents` has the texts of PDFs.
    `key_header` is the header that carries the backend's key, a bearer token in `authorization` where none is named.
    `path` is the endpoint's, behind the root of the backend's url: of the standard form, or as the plugin names it.
    """

    def __init__(
        self,
        backend: BackendConfig,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        key_header: str = AUTHORIZATION,
        path: str = CHAT_PATH,
    ) -> None:
        self.backend = backend
        self.path = path
        self._head: tuple[httpx.URL, list[tuple[bytes, bytes]]] | None = None
        self._overridden: tuple[Dialect, Dialect] | None = None
        self._transport = transport or make_transport(backend)
        self._headers = fixed_headers(backend, key_header)
        self._url = chat_url(backend.url, backend.query, path) if backend.url else None
        self._secrets = secrets_of(backend)
        self._hidden = _joined(self._secrets, self._url)
        self._hidden_at = ("", self._hidden)
        # The gateway has limits of its own for the first piece and for silence; here is what holds where it is not.
        silence = max(backend.first_timeout, backend.read_timeout)
        timeout = httpx.Timeout(silence, connect=backend.connect_timeout, pool=None)
        self._extensions = {"timeout": timeout.as_dict()}
        self.counts = SharedCounts()
        self.documents = DocumentCache()
        self.http = httpx.AsyncClient(transport=self._transport, headers=self._headers, timeout=timeout)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every configured secret, whole and word by word, as it is and encoded; the longest first."""
        return tuple(self._secrets)

    def through(self, wrap: Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport]) -> UpstreamClient:
        """The same client on another transport, which `wrap` makes of its own; all else stays shared."""
        other = copy(self)
        other._transport = wrap(self._transport)  # noqa: SLF001  another of this class
        return other

    def dialect(self, base: Dialect) -> Dialect:
        """The plugin's dialect with the single fields that the backend's table overrides."""
        if not self.backend.dialect:
            return base
        # Asked for several times a request, and a backend has one dialect: the last one made is kept.
        if self._overridden is None or self._overridden[0] is not base:
            self._overridden = (base, attrs.evolve(base, **self.backend.dialect))
        return self._overridden[1]

    async def post(self, body: bytes, url: str = "", problem: Problems | None = None) -> httpx.Response:
        """POST to the chat completions of the backend, or of `url` instead; the open response of a success.

        Raises UpstreamError for an answer with another status than 2xx, which `problem` may read, and when there is
        none.
        """
        target = chat_url(url, self.backend.query, self.path) if url else self._url
        if target is None:
            raise UpstreamError("this backend has no url")
        return await self._post(target, body, self.hidden(url), problem)

    async def ask(self, target: httpx.URL, body: bytes) -> Any:
        """POST to another endpoint of the engine; the JSON of its answer.

        Raises UpstreamError for an answer with another status than 2xx or without JSON, and when there is none.
        """
        response = await self._post(target, body, self._hidden)
        try:
            answer = bytearray()
            await _read(response, answer, ANSWER_LIMIT)
            return loads(bytes(answer[:ANSWER_LIMIT]))
        except ValueError as error:
            raise UpstreamError("the upstream's answer is not JSON", status=502) from error
        except NETWORK_ERRORS as error:
            raise network_error(error) from error
        finally:
            await response.aclose()

    async def _post(
        self, target: httpx.URL, body: bytes, hide: list[str], problem: Problems | None = None
    ) -> httpx.Response:
        # Complete as it is: httpx would work out host and length at each request, and copy the headers twice.
        headers = [*self._heads(target), (b"content-length", b"%d" % len(body))]
        stream = httpx.ByteStream(body)
        request = httpx.Request("POST", target, headers=headers, stream=stream, extensions=self._extensions)
        response = await self._send(request)
        if response.is_success:
            return response
        try:
            told = await _head(response)
            asked = limit_in(body)
            raise failure(response.status_code, response.headers, told, hide=hide, asked=asked, problem=problem)
        finally:
            await response.aclose()

    def _heads(self, target: httpx.URL) -> list[tuple[bytes, bytes]]:
        """The headers of every request to that address, but for the length."""
        if self._head is None or self._head[0] is not target:
            request = httpx.Request("POST", target, headers=self._headers)
            self._head = (target, [pair for pair in request.headers.raw if pair[0].lower() != b"content-length"])
        return self._head[1]

    async def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._transport.handle_async_request(request)
        except NETWORK_ERRORS as error:
            raise network_error(error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()

    def hidden(self, url: str = "") -> list[str]:
        """What must not be in an error, the longest first: the secrets in all forms, and the address of the backend or
        of `url`."""
        if not url:
            return self._hidden
        if self._hidden_at[0] != url:
            self._hidden_at = (url, _joined(self._secrets, chat_url(url, self.backend.query, self.path)))
        return self._hidden_at[1]


def _joined(secrets: Sequence[str], url: httpx.URL | None) -> list[str]:
    told = {*secrets, *_address(url), *(forms_of(credentials_of(url)) if url is not None else ())}
    return sorted(told, key=len, reverse=True)


def _address(url: httpx.URL | None) -> list[str]:
    """The forms in which an upstream may name itself."""
    if url is None:
        return []
    root = str(url.copy_with(path="/", query=None)).rstrip("/")
    # A host of one word ("ollama") may be any word of a sentence.
    named = [form for form in (url.netloc.decode(), url.host) if set(form) & set(".:")]
    return [url.password, str(url), root, *named]


async def _head(response: httpx.Response) -> bytes:
    """The beginning of an error body, as far as it can be read; the status alone is an error already."""
    body = bytearray()
    with suppress(*NETWORK_ERRORS), anyio.move_on_after(ERROR_BODY_TIME):
        await _read(response, body, ERROR_BODY_LIMIT)
    return bytes(body[:ERROR_BODY_LIMIT])


async def _read(response: httpx.Response, body: bytearray, limit: int) -> None:
    """Read to the end, or until there is more than `limit`."""
    async for data in response.aiter_bytes():
        body += data
        if len(body) > limit:
            break
