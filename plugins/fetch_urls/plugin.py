"""The plugin itself: its options, and the step that it adds to calls."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Generator
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import attrs
import httpx

from core import ConfigError, Request, UpstreamCall, hookimpl
from core.chat import Call, Dialect
from plugins.fetch_urls.addresses import Network
from plugins.fetch_urls.blocks import wanted_of, with_data
from plugins.fetch_urls.fetch import Fetcher
from plugins.fetch_urls.guard import Guard
from plugins.fetch_urls.kept import Kept
from plugins.fetch_urls.load import Limits, Loader


def _are_ports(_: object, __: object, ports: tuple[int, ...]) -> None:
    if not ports or not all(0 < port < 65536 for port in ports):
        raise ValueError("ports must be numbers from 1 to 65535")


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ConfigError(str(error), key="networks", hint=_remedy(text)) from error


def _remedy(text: str) -> str:
    try:
        return f'write "{ip_network(text, strict=False)}"'
    except ValueError:
        return 'write networks = ["10.1.0.0/16"]'


def _is_readable(_: object, __: object, ca: str) -> None:
    if ca and not Path(ca).is_file():
        raise ValueError(f"no such file: {ca}")


def _is_positive(_: object, field: attrs.Attribute[Any], value: float) -> None:
    if not value > 0:
        raise ValueError(f"{field.name} must be greater than 0")


def _is_not_negative(_: object, field: attrs.Attribute[Any], value: float) -> None:
    if not value >= 0:
        raise ValueError(f"{field.name} must not be negative")


@attrs.frozen(eq=False)
class FetchURLs:
    """Fetches images that a request names by URL, for engines that take only data, and PDFs by URL."""

    allow_http: bool = False
    """Whether http:// URLs are fetched, too."""
    ports: tuple[int, ...] = attrs.field(default=(80, 443), validator=_are_ports)
    """The ports that are connected to."""
    hosts: tuple[str, ...] = attrs.field(default=("*",), validator=attrs.validators.min_len(1))
    """Globs of the hosts that are fetched from."""
    denied_hosts: tuple[str, ...] = ()
    """Globs of hosts that are not."""
    networks: tuple[str, ...] = ()
    """Networks that are not public and may be fetched from all the same: "10.1.0.0/16"."""
    ca: str = attrs.field(default="", validator=_is_readable)
    """A file of certificates in PEM form to trust; "": the usual ones."""
    image_bytes: int = attrs.field(default=5 * 2**20, validator=_is_positive)
    """The largest image."""
    document_bytes: int = attrs.field(default=10 * 2**20, validator=_is_positive)
    """The largest PDF."""
    total_bytes: int = attrs.field(default=20 * 2**20, validator=_is_positive)
    """The most bytes for one request."""
    max_urls: int = attrs.field(default=20, validator=_is_positive)
    """The most URLs of one request."""
    timeout: float = attrs.field(default=10.0, validator=_is_positive)
    """Seconds in which all files of a request must have come."""
    at_once: int = attrs.field(default=16, validator=_is_positive)
    """Fetches at the same time, of all requests of this backend and worker; one client has half of them at most."""
    cache_bytes: int = attrs.field(default=64 * 2**20, validator=_is_not_negative)
    """Bytes of base64 that are kept for the turns that follow; 0: none."""
    cache_seconds: float = attrs.field(default=300.0, validator=_is_not_negative)
    """Seconds that a file is kept."""
    _loader: Loader = attrs.field(
        init=False, repr=False, default=attrs.Factory(lambda self: self._make_loader(), takes_self=True)
    )

    @hookimpl(wrapper=True)
    def call_upstream(self) -> Generator[None, UpstreamCall, UpstreamCall]:
        """The call, which fetches on entering, before its body is made."""
        call = yield
        return attrs.evolve(call, prepare=(*call.prepare, self.prepare)) if isinstance(call, Call) else call

    def take_over(self, before: FetchURLs) -> None:
        """Count what still runs with the table before, too."""
        self._loader.take_over(before._loader)

    async def prepare(self, request: Request, dialect: Dialect) -> Request:
        """The request with data in the place of URLs, as far as the dialect wants that. Raises RequestError."""
        wanted = wanted_of(request, images=dialect.images == "data")
        return with_data(request, await self._loader.load(wanted, request.owner)) if wanted else request

    def _make_loader(self) -> Loader:
        networks = tuple(map(_network, self.networks))
        guard = Guard(self.allow_http, self.ports, self.hosts, self.denied_hosts, networks)
        fetcher = Fetcher(guard, {"image": self.image_bytes, "document": self.document_bytes}, _tls(self.ca))
        limits = Limits(self.max_urls, self.total_bytes, self.timeout, self.at_once)
        return Loader(fetcher, Kept(self.cache_bytes, self.cache_seconds), limits)


def _tls(ca: str) -> Callable[[], ssl.SSLContext]:
    """The context for TLS, made with the first fetch: reading the certificates takes a while."""

    @cache
    def make() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=ca) if ca else httpx.create_ssl_context()

    return make
