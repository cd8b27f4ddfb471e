from __future__ import annotations

import socket

import pytest

from core.testing.exchange import Exchange, RequestReader
from core.testing.sockets import Connection

pytestmark = pytest.mark.anyio


async def read(*pieces: bytes, count: int = 1) -> list[Exchange | None]:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b"".join(pieces))
        theirs.shutdown(socket.SHUT_WR)
        reader = RequestReader(Connection(ours))
        found = [await reader.next() for _ in range(count)]
    ours.close()
    return found


HEAD = b"POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-Name:  a: b \r\n"


async def test_a_request_with_a_length() -> None:
    (found,) = await read(HEAD, b'Content-Length: 7\r\n\r\n{"a":1}')
    assert found is not None
    assert (found.method, found.path, found.json) == ("POST", "/v1/x?y=1", {"a": 1})
    assert found.headers == {"host": "h", "x-name": "a: b", "content-length": "7"}


async def test_a_chunked_request_and_the_next_one() -> None:
    chunked = b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    first, second, end = await read(HEAD, chunked, b"GET / HTTP/1.1\r\n\r\n", count=3)
    assert first is not None
    assert first.body == b"abcde"
    assert second is not None
    assert (second.method, second.body, end) == ("GET", b"", None)


@pytest.mark.parametrize(
    "broken", [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\nab", HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\na"]
)
async def test_a_request_that_breaks_off_is_none(broken: bytes) -> None:
    assert await read(broken) == [None]


async def test_only_the_first_word_about_the_end_counts() -> None:
    exchange = Exchange("GET", "/", {}, b"")
    exchange.end("closed")
    exchange.end("served")
    assert exchange.outcome == "closed"
    assert await exchange.peer_closed() >= exchange.began_at
    with pytest.raises(ValueError):
        _ = exchange.json
