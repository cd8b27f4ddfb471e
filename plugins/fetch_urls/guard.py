"""Which URLs may be fetched, as far as that can be told without asking anyone; no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

import attrs
import httpx

from plugins.fetch_urls.addresses import Address, Network, reachable
from plugins.fetch_urls.errors import NO_ADDRESS, FetchError

LONGEST: Final = 8192
"""Characters of a URL."""

PORTS: Final = {"http": 80, "https": 443}

_NO_HOST: Final = "its host is no name of a host"
_LONGEST_NAME: Final = 254
"""Characters, with a dot at its end."""
_FORBIDDEN: Final = re.compile("[\x00-\x20\x7f-\xa0\\\\\u2028\u2029\ud800-\udfff]")
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_BRACKETS: Final = re.compile(r"\[[0-9a-f:.]+\](:[0-9]*)?", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


@attrs.frozen
class Target:
    """A URL that passed: its parts, from which alone the request is made."""

    scheme: str
    host: str
    """In ASCII and lower case, without a dot at its end; an IP address as it is written usually, without brackets."""
    port: int
    path: str
    """With the query, as the URL has it."""
    address: Address | None
    """The address, where the host is one."""

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """Host and port, as the header `host` has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


@attrs.frozen
class Guard:
    """The operator's rules. Globs are for hosts in ASCII; `networks` may be reached although they are not public."""

    allow_http: bool = False
    ports: tuple[int, ...] = (80, 443)
    hosts: tuple[str, ...] = ("*",)
    denied_hosts: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()

    def target(self, url: str) -> Target:
        """The URL, taken apart. Raises FetchError for one that must not be fetched, whatever its host's name means."""
        parts = _split(url)
        if parts.scheme not in PORTS or (parts.scheme == "http" and not self.allow_http):
            raise FetchError(f"only {'http and ' * self.allow_http}https URLs are fetched")
        host, address = _host(parts)
        port = _port(parts)
        if port not in self.ports:
            raise FetchError(f"port {port} is not one of those that are fetched from")
        if not _matches(host, self.hosts) or _matches(host, self.denied_hosts):
            raise FetchError("its host is not one of those that are fetched from")
        if address is not None:
            self.check([address])
        query = f"?{parts.query}" if parts.query else ""
        return Target(parts.scheme, host, port, f"{parts.path or '/'}{query}", address)

    def redirected(self, target: Target, location: str) -> Target:
        """Where a redirect leads. Raises FetchError, as `target` does, but tells nothing of where."""
        try:
            return self.target(urljoin(target.url, location))
        except (FetchError, ValueError) as error:
            raise FetchError("it redirects to a URL that is not fetched") from error

    def check(self, addresses: Iterable[Address]) -> None:
        """Raises FetchError unless there are addresses, and each may be connected to.

        All of them: who adds a private one to his public ones has no good reason to.
        """
        found = list(addresses)
        if not found or not all(reachable(address, self.networks) for address in found):
            raise FetchError(NO_ADDRESS)


def host_of(url: str) -> str:
    """The host that a URL names, for the log, whether it may be fetched or not; "" for none."""
    try:
        return (urlsplit(url[:LONGEST]).hostname or "")[:_LONGEST_NAME]
    except ValueError:
        return ""


def parsed(addresses: Sequence[str]) -> list[Address]:
    """Addresses of their texts. Raises FetchError for what is none."""
    try:
        return [ip_address(address) for address in addresses]
    except ValueError as error:
        raise FetchError(NO_ADDRESS) from error


def _split(url: str) -> SplitResult:
    if len(url) > LONGEST:
        raise FetchError(f"a URL has at most {LONGEST} characters")
    if _FORBIDDEN.search(url):
        raise FetchError("it has blanks or other characters that no URL has; write them as %20 and so on")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise FetchError(_NO_HOST) from error  # that is all it finds fault with
    if "@" in parts.netloc:
        raise FetchError("it has a user's name or password, which are never sent")
    return parts


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise FetchError("its port is no number of a port") from error
    return PORTS[parts.scheme] if port is None else port


def _host(parts: SplitResult) -> tuple[str, Address | None]:
    """The host in ASCII, and the address that it is, if it is one. Only the usual form of an address is taken."""
    host = parts.hostname or ""
    if len(host) > _LONGEST_NAME:
        raise FetchError(_NO_HOST)  # before IDNA, which takes its time
    try:
        if "[" in parts.netloc:
            address: Address = IPv6Address(host if _BRACKETS.fullmatch(parts.netloc) else "")
            return str(address), address
        name = httpx.URL(scheme="https", host=host).raw_host.decode("ascii").lower().removesuffix(".")
        if _NUMBER.fullmatch(name.rpartition(".")[2]):
            address = IPv4Address(name)
            return str(address), address
    except (ValueError, httpx.InvalidURL) as error:
        raise FetchError(_NO_HOST) from error
    if len(name) >= _LONGEST_NAME or not _NAME.fullmatch(name):
        raise FetchError(_NO_HOST)
    return name, None


def _matches(host: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(host, glob.lower()) for glob in globs)
