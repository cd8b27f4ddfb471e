"""Where a request goes, and the way there: addresses, TCP, TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple

import anyio
import httpx
from aiohappyeyeballs import start_connection

from core.http1.connection import Connection

_EYEBALLS = 0.25
"""Seconds after which the next of a host's addresses is tried beside the first (RFC 8305)."""

_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """A server; connections to it are interchangeable."""

    scheme: str
    host: str
    port: int
    name: str
    """What the certificate must say."""


def origin_of(request: httpx.Request) -> Origin:
    """The server of a request. Raises httpx.UnsupportedProtocol for another scheme than http and https."""
    url = request.url
    scheme = url.scheme
    host = url.raw_host.decode("ascii")
    if scheme not in _PORTS or not host:
        raise httpx.UnsupportedProtocol("the URL must begin with http:// or https:// and name a host")
    name = request.extensions.get("sni_hostname") or host.rstrip(".")
    return Origin(scheme, host, url.port or _PORTS[scheme], name)


async def connect(
    origin: Origin, tls: ssl.SSLContext | None, seconds: float | None, lost: Callable[[Connection], None]
) -> Connection:
    """A new connection, TLS included, within the time; `lost` will be called when it is closed.

    Raises httpx.ConnectTimeout, or httpx.ConnectError with the cause (an ssl.SSLError, say).
    """
    try:
        with anyio.fail_after(seconds):
            return await _open(origin, tls if origin.scheme == "https" else None, lost)
    except TimeoutError as error:
        raise httpx.ConnectTimeout("no connection in time") from error
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(str(error)) from error


async def _open(origin: Origin, tls: ssl.SSLContext | None, lost: Callable[[Connection], None]) -> Connection:
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    # uvloop's create_connection knows no happy eyeballs: a host whose IPv6 is dead would wait for the whole limit.
    connected = await start_connection(addresses, happy_eyeballs_delay=_EYEBALLS, loop=loop)
    _, connection = await loop.create_connection(
        lambda: Connection(loop, lost), sock=connected, ssl=tls, server_hostname=origin.name if tls else None
    )
    return connection
