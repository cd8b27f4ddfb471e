from __future__ import annotations

from collections.abc import Iterable

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.http1.answer import HEAD_LIMIT, HEADER_LIMIT, PIECE, PIECES, Answer
from tests.core.http1.answers import GOOD, answers

OK = b"HTTP/1.1 200 OK\r\n"


def fed(*reads: bytes, bodyless: bool = False) -> Answer:
    answer = Answer()
    answer.begin(bodyless=bodyless)
    for data in reads:
        answer.feed(data)
    return answer


def told(reads: Iterable[bytes], *, eof: bool) -> tuple[object, ...]:
    """All that can be seen of an answer, an error included."""
    answer = Answer()
    body = b""
    failed = False
    try:
        for data in reads:
            answer.feed(data)
            body += answer.take()
        if eof:
            answer.feed_eof()
    except httpx.RemoteProtocolError:
        failed = True
    body += answer.take()
    head = (answer.status, answer.reason, answer.headers) if answer.started else None
    return head, body, answer.complete, answer.reusable, failed


@settings(deadline=None)
@given(answers(), st.data(), st.booleans())
def test_cutting_changes_nothing(wire: bytes, data: st.DataObject, eof: bool) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(wire) - 1)), max_size=8)))
    reads = [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert told([read for read in reads if read], eof=eof) == told([wire], eof=eof)


@pytest.mark.parametrize("wire", GOOD)
def test_byte_by_byte(wire: bytes) -> None:
    whole = told([wire], eof=True)
    assert told([bytes([byte]) for byte in wire], eof=True) == whole
    assert (whole[2], whole[4]) == (True, False)


def test_a_head_and_its_parts() -> None:
    answer = fed(OK + b"A:  b \t\r\nset-cookie: 1\r\nset-cookie: 2\r\ncontent-length: 2\r\n\r\nhi")
    assert (answer.status, answer.reason, answer.version) == (200, b"OK", b"1.1")
    assert answer.headers == [(b"A", b"b"), (b"set-cookie", b"1"), (b"set-cookie", b"2"), (b"content-length", b"2")]
    assert (answer.started, answer.complete, answer.reusable, answer.size) == (True, True, True, 2)
    assert (answer.take(), answer.take(), answer.size) == (b"hi", b"", 0)


def test_lines_may_end_with_a_line_feed_alone_and_sizes_with_spaces() -> None:
    assert fed(b"HTTP/1.1 200 OK\ncontent-length: 2\n\nhi").take() == b"hi"
    assert fed(OK + b"transfer-encoding: chunked\r\n\r\n2  \r\nhi\r\n0\r\n\r\n").complete


def test_one_read_is_one_piece() -> None:
    answer = fed(OK + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n")
    assert answer.take() == b"abc"
    answer.feed(b"1\r\nd\r\n1\r\ne\r\n0\r\n\r\n")
    assert (answer.take(), answer.complete, answer.reusable) == (b"de", True, True)


def test_interim_answers_are_passed_over() -> None:
    answer = fed(b"HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: z\r\n\r\n")
    assert (answer.touched, answer.started, answer.headers) == (True, False, [])
    answer.feed(OK + b"content-length: 0\r\n\r\n")
    assert (answer.status, answer.reason, answer.headers) == (200, b"OK", [(b"content-length", b"0")])
    assert answer.complete


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_no_body_where_none_is_allowed(status: bytes) -> None:
    answer = fed(b"HTTP/1.1 " + status + b"\r\ncontent-length: 5\r\n\r\n")
    assert (answer.complete, answer.reusable, answer.size) == (True, True, 0)


@pytest.mark.parametrize("framing", [b"content-length: 5", b"transfer-encoding: chunked", b"x: y"])
def test_the_answer_to_head(framing: bytes) -> None:
    answer = fed(OK + framing + b"\r\n\r\n5\r\nab", bodyless=True)
    assert (answer.complete, answer.reusable, answer.size) == (True, False, 0)


def test_trailers_are_dropped_and_do_not_leak_into_the_next_answer() -> None:
    answer = fed(OK + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-trailer: 1\r\n\r\n")
    assert (answer.complete, answer.headers) == (True, [(b"transfer-encoding", b"chunked")])
    answer.begin()
    answer.feed(OK + b"content-length: 0\r\n\r\n")
    assert answer.headers == [(b"content-length", b"0")]


@pytest.mark.parametrize(
    ("head", "ended"),
    [
        (OK + b"\r\n", True),
        (b"HTTP/1.0 200 OK\r\n\r\n", True),
        (OK + b"transfer-encoding: identity\r\n\r\n", True),
        (OK + b"content-length: 9\r\n\r\n", False),
        (OK + b"transfer-encoding: chunked\r\n\r\n3\r\n", False),
        (OK + b"transfer-encoding: gzip\r\n\r\n", True),
        (OK + b"transfer-encoding: gzip, Chunked\r\n\r\n3\r\n", False),
    ],
)
def test_what_the_end_of_the_connection_means(head: bytes, ended: bool) -> None:
    answer = fed(head + b"abc")
    if ended:
        answer.feed_eof()
    else:
        with pytest.raises(httpx.RemoteProtocolError, match="before the body was complete"):
            answer.feed_eof()
    assert (answer.complete, answer.reusable, answer.take()) == (ended, False, b"abc")


def test_the_end_before_the_head() -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="no answer"):
        fed().feed_eof()
    with pytest.raises(httpx.RemoteProtocolError, match="an incomplete answer"):
        fed(OK).feed_eof()


@pytest.mark.parametrize("more", [b"x", OK, b"\0", OK + b"content-length: 1\r\n\r\na"])
@pytest.mark.parametrize("apart", [True, False])
def test_bytes_behind_an_answer(more: bytes, apart: bool) -> None:
    whole = OK + b"content-length: 2\r\n\r\nhi"
    answer = fed(*([whole, more] if apart else [whole + more]))
    assert (answer.complete, answer.reusable, answer.take()) == (True, False, b"hi")


@pytest.mark.parametrize(
    "wire",
    [
        b"\x16\x03\x01",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 2x0 OK\r\n",
        b"HTTP/1.1 099 No\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
        OK + b"content-length: -1\r\n\r\n",
        OK + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\nxyz\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n1\r\nabc",
        OK + b"a b: c\r\n\r\n",
        OK + b"a: b\0c\r\n\r\n",
        OK + b"a: b\rc: d\r\n\r\n",
        OK + b"a: b\x01\r\n\r\n",
        OK + b"a: b\r\n c\r\n\r\n",
    ],
)
def test_what_is_no_http(wire: bytes) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        fed(wire)


def test_what_came_before_the_fault_remains() -> None:
    answer = fed(OK + b"transfer-encoding: chunked\r\n\r\n")
    with pytest.raises(httpx.RemoteProtocolError, match="no valid HTTP"):
        answer.feed(b"3\r\nabc\r\nzz\r\n")
    assert answer.take() == b"abc"


def test_limits_of_a_head() -> None:
    length = b"content-length: 0\r\n"
    assert fed(OK + length + b"a: b\r\n" * (HEADER_LIMIT - 1) + b"\r\n").complete
    with pytest.raises(httpx.RemoteProtocolError, match="256 headers"):
        fed(OK + length + b"a: b\r\n" * HEADER_LIMIT + b"\r\n")
    with pytest.raises(httpx.RemoteProtocolError, match="a head of more"):
        fed(OK + length + b"a: " + b"b" * HEAD_LIMIT + b"\r\n\r\n")


CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 100 C\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "what", "filler"),
    [
        (OK, "headers", b"a:\r\n"),
        (b"", "interim answers", INTERIM),
        (CHUNKED + b"1\r\na\r\n0\r\n", "trailers", b"a:\r\n"),
    ],
)
def test_small_things_are_counted_and_the_parser_stops_at_the_limit(begin: bytes, what: str, filler: bytes) -> None:
    end = INTERIM.partition(b"\r\n")[2]
    finish = OK + b"content-length: 0\r\n\r\n" if what == "interim answers" else end
    assert fed(begin + filler * HEADER_LIMIT + finish).started
    answer = fed()
    with pytest.raises(httpx.RemoteProtocolError, match=f"more than 256 {what}"):
        answer.feed(begin + filler * 60_000)
    assert len(answer.headers) <= HEADER_LIMIT


def test_interim_answers_are_counted_for_one_request() -> None:
    answer = fed()
    for _ in range(3):
        answer.feed(INTERIM * HEADER_LIMIT + OK + b"content-length: 0\r\n\r\n")
        assert answer.complete
        answer.begin()


def test_a_body_in_chunks_of_a_byte_is_broken_off_and_one_in_small_chunks_is_not() -> None:
    answer = fed(CHUNKED)
    for _ in range(PIECES // 100):
        answer.feed(b"1\r\nx\r\n" * 100)
    with pytest.raises(httpx.RemoteProtocolError, match="too many small chunks"):
        answer.feed(b"1\r\nx\r\n" * 1000)
    small = b"%x\r\n%b\r\n" % (PIECE, b"x" * PIECE)
    assert fed(CHUNKED, *[small * 1000] * (3 * PIECES // 1000), b"0\r\n\r\n").complete
    assert fed(CHUNKED, *[b"1\r\nx\r\n"] * PIECES, b"0\r\n\r\n").complete


@pytest.mark.parametrize(
    "begin",
    [
        OK + b"a: ",
        OK,
        b"HTTP/1.1 200 ",
        b"HTTP/1.1 100 C\r\n\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n1;",
        OK + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: ",
        OK + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
    ],
)
def test_bytes_that_bring_nothing_are_bounded(begin: bytes) -> None:
    fillers = {OK: b"a: b\r\n", b"HTTP/1.1 100 C\r\n\r\n": begin}
    filler = fillers.get(begin, b"y: z\r\n" if begin.endswith(b"\n") else b"y")
    with pytest.raises(httpx.RemoteProtocolError, match="more than"):
        fed(begin, *[filler * 100] * HEAD_LIMIT)
