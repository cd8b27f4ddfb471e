"""The network under an upstream client: httpx on aiohttp's connections, and what its exceptions mean."""

from __future__ import annotations

import ssl
from base64 import b64encode
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from typing import Any, Final
from weakref import WeakSet

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from core.config import BackendConfig
from core.errors import UpstreamError

_kept_alive: ContextVar[bool] = ContextVar("kept_alive", default=False)

AUTHORIZATION: Final = "authorization"
"""The header that carries a backend's key, where its plugin names no other."""

_POOL_IDLE = 15.0
"""Seconds that an idle connection is kept."""


def make_transport(backend: BackendConfig) -> httpx.AsyncBaseTransport:
    """A transport with its own pool; the aiohttp session begins with the first request, inside the event loop."""

    def session() -> aiohttp.ClientSession:
        # limit=0 lifts the pool's bound of 100; the dummy jar keeps one client's cookies from the next.
        connector = _Connector(limit=0, ssl=tls, keepalive_timeout=_POOL_IDLE)
        skipped = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), skip_auto_headers=skipped
        )

    plain = backend.url.strip().lower().startswith("http://") and not backend.proxy
    tls = _no_tls() if plain else _tls(backend.ca)
    proxy = _proxy(httpx.URL(backend.proxy.reveal())) if backend.proxy else None
    return AiohttpTransport(verify=tls, proxy=proxy, client=session)


def _proxy(url: httpx.URL) -> httpx.Proxy:
    if not url.userinfo:
        return httpx.Proxy(url)
    # aiohttp makes Proxy-Authorization of it. Left in the URL it would become aiohttp's BasicAuth, deprecated in 3.14.
    pair = b64encode(f"{url.username}:{url.password}".encode()).decode()
    return httpx.Proxy(url.copy_with(username=None, password=None), headers={"authorization": f"Basic {pair}"})


def fixed_headers(backend: BackendConfig, key_header: str = AUTHORIZATION) -> httpx.Headers:
    """The headers of every request to the backend; the operator's own win.

    The backend's key goes into `key_header`: as a bearer token into `authorization`, as it is into any other.
    """
    headers = httpx.Headers(
        {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "user-agent": f"hookline/{version('hookline')}",
        }
    )
    if backend.key is not None:
        key = backend.key.reveal()
        headers[key_header] = f"Bearer {key}" if key_header.lower() == AUTHORIZATION else key
    headers.update({name: value.reveal() for name, value in backend.headers.items()})
    return headers


def network_error(error: Exception) -> UpstreamError:
    """What a transport's exception means for the client; the address stays out of it.

    httpx-aiohttp gives a refused connection and a server that hung up the same class, so its cause decides.
    """
    cause = error.__cause__ or error
    if isinstance(cause, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError | ssl.SSLError):
        return UpstreamError("the upstream's TLS certificate was not accepted", status=502)
    if isinstance(cause, aiohttp.ConnectionTimeoutError) or (type(error) is httpx.ConnectTimeout and cause is error):
        return UpstreamError("the upstream did not accept a connection in time", kind="timeout")
    if isinstance(cause, aiohttp.ServerTimeoutError | httpx.TimeoutException | TimeoutError):
        return UpstreamError("the upstream was silent for too long", kind="timeout")
    if isinstance(cause, aiohttp.ClientConnectorError | httpx.ConnectError):
        return UpstreamError("the upstream cannot be reached", kind="overloaded")
    return UpstreamError("the upstream broke the connection", status=502)


def is_stale(error: Exception) -> bool:
    """Whether the request just made met a kept-alive connection that the server had closed: it may be sent again.

    A server that closes an idle connection may do so while our request is on its way, and cannot have read it. On a
    fresh connection the same error is a server that took the request and died: sending it again could generate twice.
    """
    cause = error.__cause__ or error
    closed = isinstance(cause, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
    return closed and not isinstance(cause, aiohttp.ClientConnectorError) and _kept_alive.get()


NETWORK_ERRORS = (httpx.TransportError, httpx.DecodingError, aiohttp.ClientError, OSError)
"""What a transport may raise; httpx-aiohttp lets some of aiohttp's own through."""


@cache
def _tls(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca) if ca else httpx.create_ssl_context()


@cache
def _no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _Connector(aiohttp.TCPConnector):
    """A pool that tells whether a request got a connection that was used before."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._used: WeakSet[Any] = WeakSet()

    async def connect(self, *arguments: Any, **named: Any) -> aiohttp.connector.Connection:
        """A connection, as aiohttp makes or finds it."""
        connection = await super().connect(*arguments, **named)
        _kept_alive.set(connection.protocol in self._used)
        self._used.add(connection.protocol)
        return connection
