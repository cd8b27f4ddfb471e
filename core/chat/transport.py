"""The network under an upstream client: which transport, with which headers, and what its exceptions mean."""

from __future__ import annotations

import ssl
from functools import cache
from importlib.metadata import version
from typing import Final

import httpx

from core.config import BackendConfig
from core.errors import UpstreamError
from core.http1 import HTTP1Transport

AUTHORIZATION: Final = "authorization"
"""The header that carries a backend's key, where its plugin names no other."""

_POOL_IDLE: Final = 15.0
"""Seconds that an idle connection is kept."""


def make_transport(backend: BackendConfig) -> httpx.AsyncBaseTransport:
    """A transport with its own pool of connections, which begins with the first request."""
    if backend.proxy is not None:
        from core.chat.proxied import ProxiedTransport  # noqa: PLC0415  aiohttp is for those alone who have a proxy

        return ProxiedTransport(httpx.URL(backend.proxy.reveal()), _tls(backend.ca), _POOL_IDLE)
    plain = backend.url.strip().lower().startswith("http://")
    return HTTP1Transport(None if plain else _tls(backend.ca), httpx.Limits(keepalive_expiry=_POOL_IDLE))


def direct_transport(tls: ssl.SSLContext | None = None) -> httpx.AsyncBaseTransport:
    """A transport for one request to a server that nobody trusts: one connection, which is not kept.

    HTTP/1.1, without proxies, cookies and redirects, and with limits of its own for heads and chunks. It goes where the
    request's URL says, an address say; `request.extensions["sni_hostname"]` is the name that the certificate must have.
    `tls` is the context for https. Raises httpx.TransportError in its subclasses.
    """
    return HTTP1Transport(tls, httpx.Limits(max_connections=1, max_keepalive_connections=0))


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
    """What a transport's exception means for the client; the address stays out of it."""
    if isinstance(error.__cause__, ssl.SSLError):
        return UpstreamError("the upstream's TLS certificate was not accepted", status=502)
    if isinstance(error, httpx.ConnectTimeout):
        return UpstreamError("the upstream did not accept a connection in time", kind="timeout")
    if isinstance(error, httpx.TimeoutException):
        return UpstreamError("the upstream was silent for too long", kind="timeout")
    if isinstance(error, httpx.ConnectError):
        return UpstreamError("the upstream cannot be reached", kind="overloaded")
    return UpstreamError("the upstream broke the connection", status=502)


NETWORK_ERRORS = (httpx.TransportError, httpx.DecodingError)
"""What a transport may raise."""


def _tls(ca: str) -> ssl.SSLContext:
    # A file of the operator's is read for each client: its content may have changed since.
    return ssl.create_default_context(cafile=ca) if ca else _common()


@cache
def _common() -> ssl.SSLContext:
    return httpx.create_ssl_context()
