"""What the tests of fetching share: small files, names that lead to this machine, and a fetcher that may go there."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import attrs

from plugins.fetch_urls.fetch import Allowance, Fetcher
from plugins.fetch_urls.guard import Guard
from plugins.fetch_urls.kinds import Fetched, Kind, Wanted
from tests.core.http1.server import Server

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
JPEG = b"\xff\xd8\xff\xe0pixels"
GIF = b"GIF89apixels"
WEBP = b"RIFF\x08\x00\x00\x00WEBPVP8 "
PDF = b"%PDF-1.7\n"
HERE = ("127.0.0.1",)
LOOPBACK = (ip_network("127.0.0.0/8"),)


def no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@attrs.define
class Names:
    """A resolver with answers by name, each taken in turn, the last again and again; and what it was asked."""

    answers: Mapping[str, list[tuple[str, ...]]]
    asked: list[str] = attrs.field(factory=list)

    async def __call__(self, host: str, owner: str = "") -> tuple[str, ...]:
        self.asked.append(host)
        if host not in self.answers:
            raise OSError("no such name: internal detail")
        answers = self.answers[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def names(**answers: Any) -> Names:
    """A resolver; `a` stands for the name a.example."""
    return Names({f"{name}.example": list(given) for name, given in answers.items()})


def port_of(server: Server) -> int:
    return urlsplit(server.url).port or 0


def fetcher(*servers: Server, resolve: Names | None = None, image: int = 1000, **guard: Any) -> Fetcher:
    """A fetcher that may go to the servers, which are on this machine, and to nowhere else that is not public."""
    ports = tuple(map(port_of, servers))
    rules = Guard(**{"allow_http": True, "ports": ports, "networks": LOOPBACK, **guard})
    sizes: dict[Kind, int] = {"image": image, "document": 2 * image}
    return Fetcher(rules, sizes, no_tls, resolve or names(a=[HERE], b=[HERE]))


async def fetched(given: Fetcher, url: str, kind: Kind = "image", total: int = 10_000) -> Fetched:
    return await given.fetch(Wanted(kind, url), Allowance(total))
