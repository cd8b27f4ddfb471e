"""One file over the network: the name is resolved once, and the connection goes to the address that was checked."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

import anyio.to_thread
import attrs
import httpx

from core.chat import direct_transport
from plugins.fetch_urls.addresses import Address
from plugins.fetch_urls.errors import NO_ADDRESS, FetchError, LimitError
from plugins.fetch_urls.guard import Guard, Target, parsed
from plugins.fetch_urls.kinds import Fetched, Kind, Wanted, accepted, check_type, type_of
from plugins.fetch_urls.names import Names

REDIRECTS: Final = 3
ADDRESSES: Final = 3
"""Addresses of a host that are tried."""
CONNECT: Final = 3.0
"""Seconds for each of them, TLS included."""

PIECES: Final = 1000
PIECE: Final = 64
"""A file may come in so many reads, and one more for each so many bytes: each wakes the event loop. Small chunks that
come together are the transport's business."""

_MOVED: Final = (301, 302, 303, 307, 308)

Resolve = Callable[[str, str], Awaitable[Sequence[str]]]
"""The addresses of a host's name, for an owner; raises OSError, and BusyError."""


class Allowance:
    """The bytes that the files of one request may have together."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    def take(self, size: int) -> None:
        """Use some. Raises LimitError when there are not as many."""
        self._left -= size
        if self._left < 0:
            raise LimitError(f"the files of this request have more than {in_words(self._size)} together")


@attrs.frozen(eq=False)
class Fetcher:
    """Fetches files that the guard lets pass, up to `sizes` bytes of each kind."""

    guard: Guard
    sizes: Mapping[Kind, int]
    tls: Callable[[], ssl.SSLContext]
    resolve: Resolve = attrs.field(factory=Names)

    async def fetch(self, wanted: Wanted, allowance: Allowance, owner: str = "") -> Fetched:
        """The file, for an owner. Raises FetchError; there is no limit of time but for connecting."""
        target = self.guard.target(wanted.url)
        for _ in range(REDIRECTS + 1):
            async with self._asked(target, wanted.kind, owner) as response:
                location = response.headers.get("location", "")
                if response.status_code not in _MOVED or not location:
                    return await self._read(response, wanted.kind, allowance)
            target = self.guard.redirected(target, location)
        raise FetchError(f"it redirects more than {REDIRECTS} times")

    @asynccontextmanager
    async def _asked(self, target: Target, kind: Kind, owner: str) -> AsyncIterator[httpx.Response]:
        """The open answer to a GET."""
        addresses = await self._addresses(target, owner)
        # A connection serves one request: it was checked for this host's name and not for others at that address.
        async with direct_transport(self.tls() if target.scheme == "https" else None) as transport:
            try:
                response = await _first(transport, target, kind, addresses)
                try:
                    yield response
                finally:
                    await response.aclose()
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise _failure(error) from error

    async def _addresses(self, target: Target, owner: str) -> list[Address]:
        """The checked addresses of the target's host, at most so many as are tried."""
        if target.address is not None:
            return [target.address]
        try:
            found = parsed(await self.resolve(target.host, owner))
        except (OSError, UnicodeError) as error:
            raise FetchError(NO_ADDRESS) from error
        self.guard.check(found)
        return found[:ADDRESSES]

    async def _read(self, response: httpx.Response, kind: Kind, allowance: Allowance) -> Fetched:
        if response.status_code != 200:
            raise FetchError(f"its server answered with status {response.status_code}")
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise FetchError("its server sent it compressed, although it was asked not to")
        check_type(kind, response.headers.get("content-type", ""))
        limit = self.sizes[kind]
        told = response.headers.get("content-length", "")
        if told.isdecimal() and int(told[:20]) > limit:
            raise FetchError(f"it has more than {in_words(limit)}")
        data = bytearray()
        pieces = 0
        async for piece in response.aiter_raw():
            data += piece
            pieces += 1
            if len(data) > limit:
                raise FetchError(f"it has more than {in_words(limit)}")
            if pieces > PIECES + len(data) // PIECE:
                raise FetchError("its server sent it in too many small pieces")
            allowance.take(len(piece))
        media_type = type_of(kind, data)
        text = await anyio.to_thread.run_sync(b64encode, data)
        return Fetched(media_type, text.decode("ascii"))


async def _first(
    transport: httpx.AsyncBaseTransport, target: Target, kind: Kind, addresses: Sequence[Address]
) -> httpx.Response:
    """The answer of the first of the addresses that can be connected to."""
    for address in addresses[:-1]:
        try:
            return await transport.handle_async_request(_request(target, kind, address))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
    return await transport.handle_async_request(_request(target, kind, addresses[-1]))


def _request(target: Target, kind: Kind, address: Address) -> httpx.Request:
    """A request to that very address, with the host's name where the server and its certificate want it."""
    host = f"[{address}]" if address.version == 6 else str(address)
    headers = {
        "host": target.authority,
        "accept": accepted(kind),
        "accept-encoding": "identity",
        "user-agent": f"hookline/{version('hookline')}",
        "connection": "close",
    }
    extensions = {"sni_hostname": target.host, "timeout": {"connect": CONNECT}}
    url = f"{target.scheme}://{host}:{target.port}{target.path}"
    return httpx.Request("GET", url, headers=headers, extensions=extensions)


def in_words(size: int) -> str:
    """A number of bytes as people write it."""
    return f"{size / 2**20:g} MiB" if size >= 2**20 else f"{size} bytes"


def _failure(error: Exception) -> FetchError:
    """What an exception of the network means; what it says may name addresses."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return FetchError("its server's certificate was not accepted")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return FetchError("its server cannot be reached")
    return FetchError("its server sent no whole answer")
