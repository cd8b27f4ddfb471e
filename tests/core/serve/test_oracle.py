"""Our HTTP/1 beside h11: the same requests out of the same bytes, or none; where ours is stricter, it is said here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import attrs
import h11
import pytest
from hypercorn.protocol.h11 import H2ProtocolAssumedError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.serve.heads import RefusedError
from core.serve.requests import Requests
from core.serve.settings import HEADERS

STRICTER: Final = {
    "a line feed or carriage return alone": rb"(?<!\r)\n|\r(?!\n|\Z)",
    "a folded header": rb"\r\n[ \t]",
    "a control character in a header's value or a chunk's extension": rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]",
    "two lengths, though they are the same": rb"(?is)content-length:[^\n]*(,|\n.*content-length:)",
    "a method that is not known, or in small letters": rb"(?m)^(?!(?:GET|POST|HEAD|PUT|OPTIONS) )[^ :\r\n]+ \S+ HTTP/",
    "a target that is neither a path, nor a URL, nor *": rb"(?m)^\S+ (?!/|\*|[a-z]+://)\S+ HTTP/",
    "a URL whose parts are none": rb"(?m)^\S+ [a-z]+://\S* HTTP/",
    "another version": rb"HTTP/(?!1\.[01]\r)",
    "a size of more than 16 digits": rb"[0-9A-Fa-f]{17}",
    "a space behind a size": rb"[0-9A-Fa-f][ \t]+\r?\n",
    "a length or coding in a trailer": rb"(?i)\n(content-length|transfer-encoding):",
}
"""What h11 takes and ours does not."""
END: Final = b"\r\n\r\n"


@attrs.define
class Seen:
    """Requests as an application would see them: method, target, version, headers, body, and whether it is whole."""

    requests: list[tuple[str, bytes, str, list[tuple[bytes, bytes]], bytes, bool]] = attrs.field(factory=list)
    refused: bool = False
    closed: bool = False

    def begin(self, method: str, target: bytes, version: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        kept = [(name, _plain(name, value)) for name, value in headers if name != b"upgrade"]
        self.requests.append((method, target, version, kept, b"", False))

    def add(self, body: bytes, whole: bool) -> None:
        *head, before, _ = self.requests[-1]
        self.requests[-1] = (*head, before + body, whole)  # type: ignore[assignment]


def _plain(name: bytes, value: bytes) -> bytes:
    return value.lower() if name == b"transfer-encoding" else value


def ours(pieces: Iterable[bytes]) -> Seen:
    seen, requests = Seen(), Requests(HEADERS)
    close = False
    try:
        for piece in pieces:
            requests.add(piece)
            while not seen.closed:
                if not requests.current:
                    if (head := requests.next()) is None:
                        break
                    seen.begin(head.method, head.target, head.version, head.headers)
                    close = head.close
                    seen.add(b"", requests.complete)
                if not requests.complete:
                    body = requests.body()
                    seen.add(body, requests.complete)
                    if not requests.complete:
                        break
                seen.closed = close
                requests.release()
    except RefusedError:
        seen.refused = True
    except H2ProtocolAssumedError:
        seen.closed = True
    return seen


def theirs(pieces: Iterable[bytes]) -> Seen:
    """h11 with what Hypercorn and we asked of it."""
    seen, connection = Seen(), h11.Connection(h11.SERVER, max_incomplete_event_size=HEADERS)
    try:
        for piece in pieces:
            connection.receive_data(piece)
            while not seen.closed:
                event = connection.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    break
                _take(seen, connection, event)
            if seen.closed or seen.refused:
                break
    except h11.RemoteProtocolError:
        seen.refused = True
    return seen


def _take(seen: Seen, connection: h11.Connection, event: object) -> None:
    if isinstance(event, h11.Request):
        names = [name for name, _ in event.headers]
        if event.method == b"PRI" and event.http_version == b"2.0":
            seen.closed = True
            return
        if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
            raise h11.RemoteProtocolError("two ways to count")
        seen.begin(event.method.decode(), event.target, event.http_version.decode(), event.headers)
    elif isinstance(event, h11.Data):
        seen.add(bytes(event.data), whole=False)
    elif isinstance(event, h11.EndOfMessage):
        seen.add(b"", whole=True)
        connection.send(h11.Response(status_code=404, headers=[("content-length", "0")]))
        connection.send(h11.EndOfMessage())
        seen.closed = connection.our_state is h11.MUST_CLOSE
        if not seen.closed:
            connection.start_next_cycle()


def agree(wire: bytes, pieces: list[bytes]) -> None:
    mine, other = ours(pieces), theirs([wire])
    if mine.refused and not other.refused:
        # It may still wait for the end of what it will refuse.
        other.refused = theirs([wire, END]).refused or theirs([wire, b"\r\n", END]).refused
        if not other.refused:
            assert any(re.search(pattern, wire) for pattern in STRICTER.values()), (wire, mine, other)
            assert _begins_with(other, mine), (wire, mine, other)
            return
    if other.refused and not mine.refused:
        mine.refused = ours([*pieces, END]).refused
    assert mine.refused == other.refused, (wire, mine, other)
    if mine.refused:  # of the last body one may have shown more
        assert _begins_with(other, mine) or _begins_with(mine, other), (wire, mine, other)
    else:
        assert mine == other, wire


def _begins_with(longer: Seen, shorter: Seen) -> bool:
    """Whether what the shorter has seen is how the longer begins; the last request may have got less of its body."""
    if not shorter.requests:
        return True
    *before, last = shorter.requests
    count = len(before)
    if longer.requests[:count] != before or len(longer.requests) <= count:
        return False
    same = longer.requests[count]
    return same[:4] == last[:4] and same[4].startswith(last[4]) and (same == last or not last[5])


LINES = st.sampled_from([
    b"host: h", b"Host: g", b"host : h", b"host:", b"x: y", b"X-Long: a b\tc \t", b"x:", b" folded", b"\tfolded: 1",
    b"nothing", b": empty", b"x\x00: y", b"x: \x00", b"x: \x01", b"x: \x7f", b"x: \xe4\xff", b"x\xe4: y", b"x: a\x0bb",
    b"content-length: 0", b"content-length: 5", b"Content-Length: 05", b"content-length: 5, 5", b"content-length: 5,6",
    b"content-length: +5", b"content-length: -1", b"content-length: 0x5", b"content-length:", b"content-length : 5",
    b"content-length: 99999999999999999999", b"content-length: 999999999999999999999", b"content-length: 5 5",
    b"content-length: \t5 ", b"content-length: 5;a", b"content_length: 5", b"xcontent-length: 5",
    b"transfer-encoding: chunked", b"Transfer-Encoding: CHUNKED ", b"transfer-encoding: xchunked",
    b"transfer-encoding: chunked, chunked", b"transfer-encoding: gzip, chunked", b"transfer-encoding: identity",
    b"transfer-encoding:", b"transfer-encoding: \x0bchunked", b"transfer-encoding : chunked", b"transfer-encoding:chunked",
    b'transfer-encoding: "chunked"', b"transfer-encoding: chunked;a=b", b"connection: close", b"connection: Upgrade, CLOSE",
    b"connection: keep-alive", b"connection: upgrade", b"upgrade: h2c", b"upgrade: websocket", b"expect: 100-continue",
    b"connection: transfer-encoding", b"te: trailers", b"trailer: x",
])  # fmt: skip
METHODS = st.sampled_from(
    [b"GET", b"POST", b"HEAD", b"PUT", b"OPTIONS", b"CONNECT", b"PRI", b"post", b"FOO", b"G\x00", b"", b"(x)"]
)
TARGETS = st.sampled_from(
    [
        b"/",
        b"/a?b=c&d#e",
        b"*",
        b"http://h/x",
        b"h:443",
        b"x",
        b"",
        b"/\xe4",
        b"/a b",
        b"/%00",
        b"/\x00",
        b"//",
        b'/"<>|',
    ]
)
VERSIONS = st.sampled_from(
    [
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"HTTP/2.0",
        b"HTTP/0.9",
        b"HTTP/1.2",
        b"http/1.1",
        b"HTTP/1.1 ",
        b"HTTP/11",
        b"",
        b"RTSP/1.0",
    ]
)
ENDS = st.sampled_from([b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n", b"\n\r\n"])
BODIES = st.sampled_from([
    b"", b"hello", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"0\r\n\r\n", b"5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n",
    b"5\r\nhello\r\n0\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n",
    b"5\r\nhello\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"fffffffffffffffff\r\nx",
    b"00000000000000000005\r\nhello\r\n0\r\n\r\n", b"5;\x00\r\nhello\r\n0\r\n\r\n", b"5;\r\nhello\r\n0;x\r\n\r\n",
    b"0\r\nx\r\n\r\n", b"0\r\nx : y\r\n\r\n", b"0\r\n x\r\n\r\n", b"0\r\ncontent-length: 7\r\n\r\n", b"0\r\n\n", b"A\r\n0123456789\r\n0\r\n\r\n",
    b"0\r\ntransfer-encoding: chunked\r\n\r\n", b"5;\xe4\r\nhello\r\n0\r\n\r\n", b'5;a="\r\n"\r\nhello\r\n0\r\n\r\n', b"\r\n", b"\r\n5\r\nhello",
])  # fmt: skip


GOOD_LINES = st.sampled_from([
    b"x: y", b"X-Long: a b\tc \t", b"x:", b"x: \xe4\xff", b"connection: keep-alive", b"connection: upgrade", b"upgrade: h2c",
    b"expect: 100-continue", b"connection: close", b"te: trailers", b"trailer: x", b"!#$%&'*+.^_`|~-: (){}",
])  # fmt: skip
GOOD_BODIES = st.sampled_from([
    b"0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n", b"05;a=b\r\nhello\r\n1;\r\n\n\r\n00\r\nx: y\r\nz:\r\n\r\n", b"A\r\n0\r\n\r\n0\r\n\r\r\n0\r\n\r\n",
])  # fmt: skip


@st.composite
def one_request(draw: st.DrawFn) -> bytes:
    """A request that is in order; or has one odd thing; or of which anything may be odd."""
    odd = draw(st.sampled_from(["", "", "", "", "line", "body", "all"]))
    if odd == "all":
        line = b" ".join([draw(METHODS), draw(TARGETS), draw(VERSIONS)])
        lines = [line, *draw(st.lists(LINES, max_size=4))]
        return b"".join(part + draw(ENDS) for part in [*lines, b""]) + draw(BODIES)
    lines = draw(st.lists(GOOD_LINES, max_size=2)) + ([draw(LINES)] if odd == "line" else [])
    kind = draw(st.sampled_from(["none", "length", "chunks"]))
    framing = {"none": [], "length": [b"content-length: 5"], "chunks": [b"transfer-encoding: chunked"]}[kind]
    body = {"none": b"", "length": b"hello", "chunks": draw(BODIES if odd == "body" else GOOD_BODIES)}[kind]
    return b"\r\n".join([b"POST /x HTTP/1.1", b"host: h", *framing, *lines, b"", body])


@st.composite
def wires(draw: st.DrawFn) -> bytes:
    """Some requests, of whose bytes a few may be spoilt."""
    wire = bytearray(b"".join(draw(st.lists(one_request(), min_size=1, max_size=3))))
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, max(0, len(wire) - 1)))
        put = draw(
            st.one_of(st.binary(max_size=2), st.sampled_from([b"\r\n", b"\r", b"\n", b" ", b"\t", b":", b",", b"\x00"]))
        )
        wire[at : at + draw(st.integers(0, 2))] = put
    return bytes(wire)


@st.composite
def cut(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    wire = draw(wires())
    cuts = sorted(draw(st.sets(st.integers(0, len(wire)), max_size=6)))
    return wire, [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]


@settings(max_examples=1000, deadline=None)
@given(cut())
@example(
    (
        b"GET / HTTP/1.1\r\nhost: h\r\n\r\n\r\nGET /2 HTTP/1.1\r\nhost: h\r\n\r\n",
        [b"GET / HTTP/1.1\r\nhost: h\r\n\r\n\r\nGET /2 HTTP/1.1\r\nhost: h\r\n\r\n"],
    )
)
def test_the_same_requests_or_none(cut: tuple[bytes, list[bytes]]) -> None:
    agree(*cut)


@settings(max_examples=300, deadline=None)
@given(wires())
def test_byte_by_byte_it_is_the_same_as_in_one_piece(wire: bytes) -> None:
    whole, single = ours([wire]), ours([wire[at : at + 1] for at in range(len(wire))])
    if not whole.refused:
        assert single == whole
    else:  # of a body that turns out to be bad more may have been taken
        assert single.refused
        assert _begins_with(single, whole)


HEAD = b"POST /x HTTP/1.1\r\nhost: h\r\n"
EXAMPLES: Final = {
    "a line feed or carriage return alone": b"GET / HTTP/1.1\nhost: h\n\n",
    "a folded header": b"GET / HTTP/1.1\r\nhost: h\r\nx: a\r\n b\r\n\r\n",
    "a control character in a header's value or a chunk's extension": HEAD + b"x: \x01\r\n\r\n",
    "two lengths, though they are the same": HEAD + b"content-length: 1\r\ncontent-length: 1\r\n\r\nx",
    "a method that is not known, or in small letters": b"FETCH / HTTP/1.1\r\nhost: h\r\n\r\n",
    "a target that is neither a path, nor a URL, nor *": b"GET x HTTP/1.1\r\nhost: h\r\n\r\n",
    "a URL whose parts are none": b"GET http://a{b HTTP/1.1\r\nhost: h\r\n\r\n",
    "another version": b"GET / HTTP/1.7\r\nhost: h\r\n\r\n",
    "a size of more than 16 digits": HEAD + b"transfer-encoding: chunked\r\n\r\n00000000000000001\r\nx\r\n0\r\n\r\n",
    "a space behind a size": HEAD + b"transfer-encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n",
    "a length or coding in a trailer": HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\ncontent-length: 1\r\n\r\n",
}


@pytest.mark.parametrize("what", STRICTER)
def test_where_ours_is_stricter(what: str) -> None:
    wire = EXAMPLES[what]
    assert re.search(STRICTER[what], wire)
    assert ours([wire]).refused
    assert not theirs([wire]).refused
