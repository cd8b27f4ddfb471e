"""The head of a request as bytes."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final

import attrs
import httpx

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_NAMES: Final = re.compile(_TOKEN + rb"(?:," + _TOKEN + rb")*")
_LINE: Final = re.compile(_TOKEN + rb" [!-~]+")
_BAD: Final = re.compile(rb"[\0\r\n]")


@attrs.frozen
class RequestHead:
    """The bytes up to the body, and how the body must be framed."""

    data: bytes
    length: int
    """The declared length of the body; 0 where none is declared."""
    chunked: bool
    close: bool
    """Whether the request asks the server to close the connection."""


def request_head(request: httpx.Request) -> RequestHead:
    """The head of a request, with the URL's userinfo as basic authorization where no other is given.

    Raises httpx.LocalProtocolError for what would not be one request on the wire.
    """
    url = request.url
    line = b"%b %b" % (request.method.encode("ascii", "replace"), url.raw_path)
    raw = request.headers.raw
    names = b",".join([name for name, _ in raw])
    if not _LINE.fullmatch(line) or not _NAMES.fullmatch(names) or names.count(b",") >= len(raw):
        raise httpx.LocalProtocolError("the request's method, target or a header's name cannot be sent")
    if _BAD.search(b"".join([value for _, value in raw])):
        raise httpx.LocalProtocolError("a header's value has a line break or a null byte in it")
    known = {name.lower(): value for name, value in raw}
    if b"host" not in known:
        raise httpx.LocalProtocolError("the request has no host header")
    block = [b"%b: %b\r\n" % pair for pair in raw]
    if url.userinfo and b"authorization" not in known:
        pair = f"{url.username}:{url.password}".encode()
        block.append(b"authorization: Basic %b\r\n" % b64encode(pair))
    return RequestHead(
        data=b"%b HTTP/1.1\r\n%b\r\n" % (line, b"".join(block)),
        length=_length(known),
        chunked=b"transfer-encoding" in known,
        close=known.get(b"connection", b"").lower() == b"close",
    )


def _length(known: dict[bytes, bytes]) -> int:
    declared = known.get(b"content-length")
    if declared is None:
        return 0
    if not declared.isdigit() or b"transfer-encoding" in known:
        raise httpx.LocalProtocolError("the request's content-length is no number, or stands beside transfer-encoding")
    return int(declared)
