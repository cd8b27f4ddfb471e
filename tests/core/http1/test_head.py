from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from core.http1.head import request_head


def request(
    headers: dict[str, str] | None = None, url: str = "http://host/a?b=c", content: bytes = b"{}"
) -> httpx.Request:
    return httpx.Request("POST", url, headers=headers, content=content)


def test_a_head_on_the_wire() -> None:
    head = request_head(request({"X-A": "1"}))
    assert head.data == b"POST /a?b=c HTTP/1.1\r\nHost: host\r\nX-A: 1\r\nContent-Length: 2\r\n\r\n"
    assert (head.length, head.chunked, head.close) == (2, False, False)


def test_a_body_of_unknown_length_is_chunked() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b""

    head = request_head(httpx.Request("POST", "http://host", content=pieces()))
    assert (head.length, head.chunked) == (0, True)
    assert b"Transfer-Encoding: chunked\r\n" in head.data


def test_a_request_may_end_its_connection() -> None:
    assert request_head(request({"Connection": "Close"})).close


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "a\rb", "a\0b"])
def test_a_value_that_breaks_the_line(value: str) -> None:
    with pytest.raises(httpx.LocalProtocolError, match="value"):
        request_head(request({"x-a": value}))


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "a,b"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(httpx.LocalProtocolError, match="name"):
        request_head(request({name: "1"}))


@pytest.mark.parametrize("method", ["", "GET /x", "A\r\nB"])
def test_a_method_that_is_none(method: str) -> None:
    with pytest.raises(httpx.LocalProtocolError, match="method"):
        request_head(httpx.Request(method, "http://host"))


@pytest.mark.parametrize(
    "headers",
    [{"content-length": "two"}, {"content-length": "-1"}, {"content-length": "2", "transfer-encoding": "chunked"}],
)
def test_a_framing_that_is_none(headers: dict[str, str]) -> None:
    with pytest.raises(httpx.LocalProtocolError, match="content-length"):
        request_head(request(headers))


def test_a_request_without_a_host() -> None:
    without = request()
    del without.headers["host"]
    with pytest.raises(httpx.LocalProtocolError, match="host"):
        request_head(without)


@pytest.mark.parametrize(
    ("url", "headers", "sent"),
    [
        ("http://me:s%40c@host", {}, b"authorization: Basic bWU6c0Bj\r\n"),
        ("http://me@host", {}, b"authorization: Basic bWU6\r\n"),
        ("http://me:pw@host", {"Authorization": "Bearer x"}, b"Authorization: Bearer x\r\n"),
    ],
)
def test_userinfo_is_basic_authorization(url: str, headers: dict[str, str], sent: bytes) -> None:
    data = request_head(request(headers, url)).data
    assert sent in data
    assert data.lower().count(b"authorization:") == 1
