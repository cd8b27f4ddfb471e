from __future__ import annotations

from typing import Any

import orjson
import pytest

from core.serve.answers import Answer, refusal

DATE = [(b"date", b"now")]


def answer(method: str = "GET", *, old: bool = False, close: bool = False) -> Answer:
    return Answer(method, old=old, close=close)


def test_one_with_a_length_leaves_in_one_piece() -> None:
    one = answer()
    one.start(200, [(b"Content-Length", b"2"), (b"x-y", b" z ")], DATE)
    assert not one.begun
    assert one.piece(b"hi", more=False) == (b"HTTP/1.1 200 \r\nx-y: z\r\ndate: now\r\ncontent-length: 2\r\n\r\nhi")
    assert (one.begun, one.done, one.close, one.until_closed) == (True, True, False, False)


def test_one_in_chunks() -> None:
    one = answer()
    one.start(200, [], DATE)
    assert one.piece(b"first", more=True) == (
        b"HTTP/1.1 200 \r\ndate: now\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n"
    )
    assert one.piece(b"", more=True) == b""
    assert one.piece(b"x" * 16, more=True) == b"10\r\n" + b"x" * 16 + b"\r\n"
    assert not one.done
    assert one.piece(b"last", more=False) == b"4\r\nlast\r\n0\r\n\r\n"
    assert one.done


def test_an_end_without_bytes() -> None:
    one = answer()
    one.start(200, [], [])
    assert one.piece(b"", more=False) == b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"


def test_for_http_1_0_the_connection_s_end_is_the_body_s() -> None:
    one = answer(old=True)
    one.start(200, [], [])
    assert one.piece(b"hi", more=True) == b"HTTP/1.1 200 \r\nconnection: close\r\n\r\nhi"
    assert one.piece(b"ho", more=False) == b"ho"
    assert (one.close, one.until_closed) == (True, True)


@pytest.mark.parametrize(
    ("method", "status", "length", "head"),
    [
        ("HEAD", 200, True, b"content-length: 9\r\n"),
        ("HEAD", 200, False, b"transfer-encoding: chunked\r\n"),
        ("GET", 204, False, b""),
        ("GET", 304, True, b"content-length: 9\r\n"),
        ("GET", 304, False, b""),
    ],
)
def test_one_without_a_body(method: str, status: int, length: bool, head: bytes) -> None:
    one = answer(method)
    one.start(status, [(b"content-length", b"9")] if length else [], [])
    assert one.piece(b"dropped", more=True) == b"HTTP/1.1 %d \r\n%b\r\n" % (status, head)
    assert one.piece(b"dropped", more=False) == b""
    assert (one.done, one.until_closed) == (True, False)


@pytest.mark.parametrize("said", [(b"connection", b"close"), (b"Connection", b"x, Close"), None])
def test_it_says_once_that_the_connection_ends(said: tuple[bytes, bytes] | None) -> None:
    one = answer(close=said is None)
    one.start(200, [said] if said else [], [])
    assert one.piece(b"", more=False).lower().count(b"connection: close\r\n") == 1
    assert one.close


def test_the_framing_is_ours() -> None:
    one = answer()
    one.start(200, [(b"transfer-encoding", b"gzip"), (b"connection", b"keep-alive")], [])
    assert one.piece(b"", more=False) == b"HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, [(b"x", b"a\r\nb: c")]),
        (200, [(b"x", b"a\nb")]),
        (200, [(b"x", b"a\rb")]),
        (200, [(b"x", b"a\x00b")]),
        (200, [(b"x\r\ny", b"a")]),
        (200, [(b"x y", b"a")]),
        (200, [(b":status", b"200")]),
        (200, [(b"", b"a")]),
        (200, [(b"content-length", b"+1")]),
        (200, [(b"content-length", b"1"), (b"content-length", b"2")]),
        (100, []),
        (1000, []),
        (-200, []),
    ],
)
def test_a_head_that_would_break(status: int, headers: Any) -> None:
    one = answer()
    with pytest.raises(ValueError, match="the answer"):
        one.start(status, headers, [])
    assert not one.begun


@pytest.mark.parametrize("pieces", [[b"hi!"], [b"h", b"i", b"!"], [b"h"], [b"h", b""]])
def test_a_length_that_does_not_hold(pieces: list[bytes]) -> None:
    one = answer()
    one.start(200, [(b"content-length", b"2")], [])
    for piece in pieces[:-1]:
        one.piece(piece, more=True)
    with pytest.raises(RuntimeError, match="content-length is wrong"):
        one.piece(pieces[-1], more=False)
    assert not one.done


def test_what_comes_in_the_wrong_order() -> None:
    one = answer()
    with pytest.raises(RuntimeError):
        one.piece(b"x", more=False)
    one.start(200, [], [])
    with pytest.raises(RuntimeError):
        one.start(200, [], [])
    one.piece(b"x", more=False)
    with pytest.raises(RuntimeError):
        one.piece(b"x", more=False)
    with pytest.raises(RuntimeError):
        one.start(200, [], [])


@pytest.mark.parametrize(("status", "kind"), [(400, "invalid_request_error"), (500, "api_error")])
def test_a_refusal(status: int, kind: str) -> None:
    head, _, body = refusal(status, 'no "good"', DATE).partition(b"\r\n\r\n")
    said = orjson.loads(body)
    assert said["error"] == {"type": kind, "message": 'no "good"'}
    assert said["type"] == "error"
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 %d " % status
    assert set(lines[1:]) == {
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        b"request-id: " + said["request_id"].encode(),
        b"date: now",
        b"connection: close",
    }
