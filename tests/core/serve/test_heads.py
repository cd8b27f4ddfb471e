from __future__ import annotations

import pytest

from core.serve.heads import BARE, Head, RefusedError, read_head

GET = b"GET /x?y HTTP/1.1\r\n"
HOST = b"host: h\r\n"


def post(*lines: bytes, version: bytes = b"1.1") -> bytes:
    return b"\r\n".join([b"POST /x HTTP/" + version, b"host: h", *lines, b"", b""])


def test_all_of_it() -> None:
    head = read_head(
        b"POST /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two:  b \t\r\nEmpty:\r\nUTF: \xc3\xa4\r\nContent-Length: 7\r\n\r\n"
    )
    assert head == Head(
        "POST",
        b"/a%20b?c=d",
        "1.1",
        [
            (b"host", b"h"),
            (b"x-two", b"a"),
            (b"x-two", b"b"),
            (b"empty", b""),
            (b"utf", b"\xc3\xa4"),
            (b"content-length", b"7"),
        ],
        length=7,
    )


@pytest.mark.parametrize(
    ("raw", "length", "close", "expects"),
    [
        (GET + HOST + b"\r\n", 0, False, False),
        (b"GET / HTTP/1.0\r\n\r\n", 0, True, False),
        (b"GET * HTTP/1.1\r\nhost:\r\n\r\n", 0, False, False),
        (b"GET http://h/x HTTP/1.1\r\nhost: h\r\n\r\n", 0, False, False),
        (post(b"connection: Keep-Alive, Close"), 0, True, False),
        (post(b"connection: x", b"connection: close"), 0, True, False),
        (post(b"connection: closed"), 0, False, False),
        (post(b"connection: keep-alive", version=b"1.0"), 0, True, False),
        (post(b"transfer-encoding: Chunked"), None, False, False),
        (post(b"content-length: 007"), 7, False, False),
        (post(b"content-length: 3", b"expect: 100-Continue"), 3, False, True),
        (post(b"content-length: 3", b"expect: x, 100-continue"), 3, False, True),
        (post(b"content-length: 3", b"expect: 100-continue", version=b"1.0"), 3, True, False),
    ],
)
def test_where_the_body_ends_and_whether_the_connection_does(
    raw: bytes, length: int | None, close: bool, expects: bool
) -> None:
    head = read_head(raw)
    assert (head.length, head.close, head.expects) == (length, close, expects)


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket", b"TLS/1.0"])
@pytest.mark.parametrize("body", [[], [b"content-length: 3"], [b"transfer-encoding: chunked"]])
def test_nothing_is_upgraded(upgrade: bytes, body: list[bytes]) -> None:
    head = read_head(post(b"connection: upgrade", b"upgrade: " + upgrade, *body))
    assert b"upgrade" not in dict(head.headers)
    assert head.length == (3 if body == [b"content-length: 3"] else None if body else 0)


@pytest.mark.parametrize(
    ("status", "raw"),
    [
        # the request's line
        (400, b"\r\n" + GET + HOST + b"\r\n"),
        (400, b"GET  /x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET\t/x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET /x  HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET /x HTTP/1.1 \r\n" + HOST + b"\r\n"),
        (400, b" GET /x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET /x HTTP/1.1\n" + HOST + b"\r\n"),
        (400, b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET /\x7f HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET /a\x00b HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (505, b"GET /x\r\n\r\n"),
        (400, b"GET /x http/1.1\r\n" + HOST + b"\r\n"),
        (400, b"GET /x RTSP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"SOURCE /x ICE/1.0\r\n" + HOST + b"\r\n"),
        (400, b"G\x00T /x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        (501, b"FETCH /x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (501, b"get /x HTTP/1.1\r\n" + HOST + b"\r\n"),
        (501, b"CONNECT h:443 HTTP/1.1\r\n" + HOST + b"\r\n"),
        (505, b"GET /x HTTP/0.9\r\n\r\n"),
        (505, b"GET /x HTTP/1.2\r\n" + HOST + b"\r\n"),
        (505, b"GET /x HTTP/2.0\r\n" + HOST + b"\r\n"),
        (505, b"PRI * HTTP/2.0\r\n\r\n"),
        # lines
        (400, GET + b"host: h\n\r\n"),
        (400, GET + b"host: h\rx: y\r\n\r\n"),
        (400, GET + HOST + b"x: a\r\n b\r\n\r\n"),
        (400, GET + HOST + b"x: a\r\n\tcontent-length: 5\r\n\r\n"),
        (400, GET + b" host: h\r\n\r\n"),
        (400, GET + HOST + b"x:\r\n y\r\n\r\n"),
        # names and values
        (400, GET + HOST + b"x : y\r\n\r\n"),
        (400, GET + HOST + b"x\r\n\r\n"),
        (400, GET + HOST + b": y\r\n\r\n"),
        (400, GET + HOST + b"x\x00y: z\r\n\r\n"),
        (400, GET + HOST + b"x\xff: z\r\n\r\n"),
        (400, GET + HOST + b"x(y): z\r\n\r\n"),
        (400, GET + HOST + b"x: \x00\r\n\r\n"),
        (400, GET + HOST + b"x: a\x0bb\r\n\r\n"),
        (400, GET + HOST + b"x: a\x7fb\r\n\r\n"),
        (400, GET + b"\r\n"),
        (400, GET + HOST + HOST + b"\r\n"),
        (400, b"GET / HTTP/1.0\r\n" + HOST + HOST + b"\r\n"),
        # the body's length
        (400, post(b"content-length: 5", b"content-length: 5")),
        (400, post(b"content-length: 5", b"content-length: 6")),
        (400, post(b"content-length: 5, 5")),
        (400, post(b"content-length:")),
        (400, post(b"content-length: +5")),
        (400, post(b"content-length: -5")),
        (400, post(b"content-length: 0x5")),
        (400, post(b"content-length: 5 5")),
        (400, post(b"content-length: 5_0")),
        (400, post(b"content-length: " + b"9" * 21)),
        (400, post(b"content-length : 5")),
        (400, post(b"content-length: 5", b"transfer-encoding: chunked")),
        (400, post(b"transfer-encoding: chunked", b"content-length: 5")),
        (400, post(b"transfer-encoding: chunked", version=b"1.0")),
        (501, post(b"transfer-encoding: xchunked")),
        (501, post(b"transfer-encoding: gzip, chunked")),
        (400, post(b"transfer-encoding: chunked, identity")),
        (400, post(b"transfer-encoding: chunked, chunked")),
        (501, post(b"transfer-encoding: identity")),
        (501, post(b"transfer-encoding: chunked;a=b")),
        (400, post(b"transfer-encoding:")),
    ],
)
def test_what_is_refused(status: int, raw: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        read_head(raw)
    assert refused.value.status == status
    assert refused.value.message
    assert "\n" not in refused.value.message


def test_two_codings_are_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        read_head(post(b"transfer-encoding: chunked", b"transfer-encoding: chunked"))
    assert refused.value.status in {400, 501}


@pytest.mark.parametrize(
    ("data", "bare"),
    [(b"a\r\nb\r\n", False), (b"a\r", False), (b"a\nb", True), (b"a\rb", True), (b"\r\r\n", True), (b"\r\n\n", True)],
)
def test_line_ends_that_are_half_of_one(data: bytes, bare: bool) -> None:
    assert (BARE.search(data) is not None) == bare
    assert (BARE.search(b"ab\r\n" + data, 3) is not None) == bare  # what lies before is seen from there
