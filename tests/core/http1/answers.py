"""Answers on the wire: good ones of every framing, and faults in them."""

from __future__ import annotations

from hypothesis import strategies as st

STATUSES = (b"200 OK", b"404 Not Found", b"500", b"299 Hm Hm", b"204 No Content", b"304 Not Modified")
INTERIM = (b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n")
CONNECTION = (b"", b"", b"Connection: close\r\n", b"connection: keep-alive\r\n")

GOOD = (
    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nt: u\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello",
    b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 5\r\n\r\nhello",
    b"HTTP/1.1 204 No Content\r\n\r\n",
)


@st.composite
def good_answers(draw: st.DrawFn, *, head_only: bool = False) -> bytes:
    """One whole answer; one whose end is the connection's among them. To a HEAD request: without its body."""
    status = draw(st.sampled_from(STATUSES))
    version = draw(st.sampled_from((b"1.1", b"1.1", b"1.0")))
    pieces = draw(st.lists(st.text("ab01\r\n;:", min_size=1, max_size=40).map(str.encode), max_size=4))
    if status[:3] in (b"204", b"304"):
        framing, body = b"", b""
    else:
        framing, body = draw(st.sampled_from((_by_length(pieces), _chunked(pieces), (b"", b"".join(pieces)))))
    extra = draw(st.sampled_from((b"", b"X-A: 1\r\nx-a: 2\r\n", b"content-type:text/plain\r\nempty:\r\n")))
    head = b"HTTP/%b %b\r\n%b%b%b\r\n" % (version, status, draw(st.sampled_from(CONNECTION)), extra, framing)
    return draw(st.sampled_from(INTERIM)) + head + (b"" if head_only else body)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """An answer that may be cut short, damaged, or followed by what nobody asked for."""
    wire = draw(good_answers())
    fault = draw(st.sampled_from(("none", "none", "short", "damage", "more")))
    at = draw(st.integers(0, len(wire) - 1))
    if fault == "short":
        return wire[:at]
    if fault == "damage":
        return wire[:at] + draw(st.binary(min_size=1, max_size=2)) + wire[at + 1 :]
    if fault == "more":
        return wire + draw(st.sampled_from((b"x", b"\0\0", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")))
    return wire


def _by_length(pieces: list[bytes]) -> tuple[bytes, bytes]:
    body = b"".join(pieces)
    return b"Content-Length: %d\r\n" % len(body), body


def _chunked(pieces: list[bytes]) -> tuple[bytes, bytes]:
    body = b"".join([b"%X\r\n%b\r\n" % (len(piece), piece) for piece in pieces])
    trailer = b"t: u\r\n" if len(pieces) == 2 else b""
    return b"Transfer-Encoding: chunked\r\n", body + b"0\r\n" + trailer + b"\r\n"
