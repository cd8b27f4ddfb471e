"""The network behind a proxy: httpx on aiohttp's connections, whose exceptions become httpx's own.

Apart from core/chat/transport.py, so that nobody without a proxy pays for the import of aiohttp.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

_SKIPPED: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class ProxiedTransport(httpx.AsyncBaseTransport):
    """Each request through the HTTP proxy, sent once; idle connections are kept for `idle` seconds.

    Raises httpx.TransportError in its subclasses, with the true cause.
    """

    def __init__(self, proxy: httpx.URL, tls: ssl.SSLContext, idle: float) -> None:
        def session() -> aiohttp.ClientSession:
            # limit=0 lifts the pool's bound of 100; the dummy jar keeps one client's cookies from the next.
            connector = aiohttp.TCPConnector(limit=0, ssl=tls, keepalive_timeout=idle)
            jar = aiohttp.DummyCookieJar()
            return aiohttp.ClientSession(connector=connector, cookie_jar=jar, skip_auto_headers=_SKIPPED)

        self._inner = AiohttpTransport(verify=tls, proxy=_proxy(proxy), client=session)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the response, as soon as its head is there."""
        with _as_httpx():
            response = await self._inner.handle_async_request(request)
        stream = response.stream
        if isinstance(stream, httpx.AsyncByteStream):
            response.stream = _Body(stream)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = aiter(self._inner)
        while True:
            with _as_httpx():
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece

    async def aclose(self) -> None:
        with _as_httpx():
            await self._inner.aclose()


def _proxy(url: httpx.URL) -> httpx.Proxy:
    if not url.userinfo:
        return httpx.Proxy(url)
    # aiohttp makes Proxy-Authorization of it. Left in the URL it would become aiohttp's BasicAuth, deprecated in 3.14.
    pair = b64encode(f"{url.username}:{url.password}".encode()).decode()
    return httpx.Proxy(url.copy_with(username=None, password=None), headers={"authorization": f"Basic {pair}"})


@contextmanager
def _as_httpx() -> Iterator[None]:
    try:
        yield
    except (httpx.TransportError, aiohttp.ClientError, OSError) as error:
        raise meaning(error) from _tls_error(error) or error


def meaning(error: Exception) -> httpx.TransportError:
    """httpx's own exception for one of httpx-aiohttp's or aiohttp's.

    httpx-aiohttp gives a refused connection and a server that hung up the same class, so its cause decides.
    """
    cause = error.__cause__ or error
    if isinstance(cause, aiohttp.ConnectionTimeoutError) or (type(error) is httpx.ConnectTimeout and cause is error):
        return httpx.ConnectTimeout("no connection in time")
    if isinstance(cause, aiohttp.ServerTimeoutError | httpx.TimeoutException | TimeoutError):
        return httpx.ReadTimeout("the server was silent for too long")
    if isinstance(cause, aiohttp.ClientConnectorError | httpx.ConnectError):
        return httpx.ConnectError("no connection")
    return httpx.ReadError("the connection broke")


def _tls_error(error: Exception) -> ssl.SSLError | None:
    """The fault of TLS behind it, if it is one."""
    cause = error.__cause__ or error
    if isinstance(cause, ssl.SSLError):
        return cause
    if isinstance(cause, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        return ssl.SSLError(str(type(cause).__name__))
    return None
