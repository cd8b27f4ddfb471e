"""The head of one HTTP/1 request, read by llhttp, and all that could be read in two ways refused."""

from __future__ import annotations

import re
from typing import Final

import attrs
from httptools import HttpParserError, HttpParserInvalidMethodError, HttpParserUpgrade, HttpRequestParser

BARE: Final = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)")
"""A line feed or a carriage return that does not belong to the other."""
TOKEN: Final = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]"
"""A character of a token (RFC 9110, 5.6.2): of a method, or of a header's name."""
_LINE: Final = re.compile(TOKEN + rb"+ [\x21-\x7e]+ HTTP/([0-9]\.[0-9])\r\n")
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_TELLING: Final = frozenset({b"connection", b"content-length", b"expect", b"host", b"transfer-encoding", b"upgrade"})
_Headers = list[tuple[bytes, bytes]]


class RefusedError(Exception):
    """A request that is not HTTP as we take it; `status` is that of the answer, `message` is for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@attrs.define
class Head:
    """A request's line and headers; names are in lower case, in the order of the wire, without `upgrade`."""

    method: str
    target: bytes
    version: str
    headers: _Headers
    length: int | None = 0
    """Bytes of the body; None: it comes in chunks."""
    close: bool = False
    """Whether the connection ends with the answer."""
    expects: bool = False
    """Whether the client waits with the body until it is asked for it."""


def read_head(raw: bytes) -> Head:
    """The head that is these bytes, up to and with the first empty line.

    Raises RefusedError for all that RFC 9112 forbids, and for what it allows and others may count otherwise: folded
    headers, bare line feeds, several lengths (also equal ones), codings beside `chunked`, empty lines in front.
    """
    parts = _Parts()
    parser = HttpRequestParser(parts)
    try:
        parser.feed_data(raw)
    except HttpParserUpgrade:
        pass  # llhttp has read all of the head; it is we who go on
    except HttpParserError as error:
        raise _refused(raw, parts.headers, error) from None
    method, version, headers = parser.get_method(), parser.get_http_version(), parts.headers
    if version not in _VERSIONS or method == b"CONNECT":
        raise _unsupported(version)
    # llhttp skips empty lines before a request and takes several spaces in its line; no other line may have been more
    # or less than a header.
    lines = len(headers) + 2
    if (
        not raw.startswith(b"%b %b HTTP/%b\r\n" % (method, parts.target, version.encode()))
        or not raw.count(b"\r\n") == raw.count(b"\r") == raw.count(b"\n") == lines
    ):
        raise _no_http("the request line is not METHOD TARGET HTTP/1.1, or a header is not one line")
    head = Head(method.decode(), parts.target, version, headers)
    _frame(head)
    return head


class _Parts:
    """What llhttp finds; it calls the methods by name."""

    __slots__ = ("headers", "target")

    def __init__(self) -> None:
        self.target = b""
        self.headers: _Headers = []

    def on_url(self, part: bytes) -> None:
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        # llhttp takes the white space before a value, not that behind it.
        self.headers.append((name.lower(), value.rstrip(b" \t")))


def _frame(head: Head) -> None:
    """Find where the body ends and whether the connection goes on. Raises RefusedError."""
    told: dict[bytes, list[bytes]] = {}
    for name, value in head.headers:
        if name in _TELLING:
            told.setdefault(name, []).append(value)
    old = head.version == "1.0"
    hosts = len(told.get(b"host", ()))
    if hosts > 1 or not (hosts or old):
        raise RefusedError(400, f"{hosts} headers `host`; send one")
    _measure(head, told)
    head.close = old or (b"connection" in told and b"close" in _words(told[b"connection"]))
    head.expects = b"expect" in told and not old and b"100-continue" in _words(told[b"expect"])
    if b"upgrade" in told:
        # Nothing here speaks WebSocket, and h2c carries requests past a proxy's rules.
        head.headers = [header for header in head.headers if header[0] != b"upgrade"]


def _measure(head: Head, told: dict[bytes, list[bytes]]) -> None:
    lengths = told.get(b"content-length")
    if codings := told.get(b"transfer-encoding"):
        _check_codings(codings)
        if lengths is not None or head.version == "1.0":
            raise RefusedError(400, "`transfer-encoding` beside `content-length`, or in HTTP/1.0; send one of them")
        head.length = None
    elif lengths is not None:
        if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 20:
            raise RefusedError(400, "`content-length` is not one whole number")
        head.length = int(lengths[0])


def _check_codings(codings: list[bytes]) -> None:
    if len(codings) > 1 or codings[0].lower() != b"chunked":
        raise RefusedError(501, "`transfer-encoding` may only be `chunked`, once")


def _words(values: list[bytes]) -> list[bytes]:
    return [word.strip() for value in values for word in value.lower().split(b",")]


def _refused(raw: bytes, headers: _Headers, error: HttpParserError) -> RefusedError:
    """What llhttp's complaint is for the client."""
    line = _LINE.match(raw)
    if line is None:
        return _no_http("the request line is not METHOD TARGET HTTP/1.1")
    version = line[1].decode()
    if version not in _VERSIONS or isinstance(error, HttpParserInvalidMethodError):
        return _unsupported(version)
    try:
        _check_codings([value for name, value in headers if name == b"transfer-encoding"] or [b"chunked"])
    except RefusedError as refused:
        return refused
    return _no_http(str(error))


def _unsupported(version: str) -> RefusedError:
    if version not in _VERSIONS:
        return RefusedError(505, "the version of HTTP is none of 1.1, 1.0 and 2")
    return RefusedError(501, "the method is not known; methods are in capital letters")


def _no_http(why: str) -> RefusedError:
    return RefusedError(400, f"the request is no valid HTTP/1.1: {why}")
