from __future__ import annotations

import socket

import httpx
import pytest

from core import Page
from plugins.metrics.port import host_port, refuse_taken, serving


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("bind", "parts"), [("127.0.0.1:9464", ("127.0.0.1", 9464)), ("[::1]:80", ("::1", 80)), ("host:1", ("host", 1))]
)
def test_addresses(bind: str, parts: tuple[str, int]) -> None:
    assert host_port(bind) == parts


@pytest.mark.parametrize("bind", ["", "9464", ":9464", "host:", "host:0", "host:65536", "::1:80", "[host]:80", "h:x"])
def test_what_is_no_address(bind: str) -> None:
    with pytest.raises(ValueError, match="is not HOST:PORT"):
        host_port(bind)


def test_several_may_listen_and_answer(port: int) -> None:
    pages = (Page(b"one", "text/one"), Page(b"two", "text/two"))
    with serving("127.0.0.1", port, lambda: pages[0]), serving("127.0.0.1", port, lambda: pages[1]):
        answers = [httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False) for _ in range(4)]
        assert {(answer.status_code, answer.text, answer.headers["content-type"]) for answer in answers} <= {
            (200, "one", "text/one"),
            (200, "two", "text/two"),
        }
        assert httpx.get(f"http://127.0.0.1:{port}/elsewhere", trust_env=False).status_code == 404
        assert httpx.post(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 404
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_page_that_fails(port: int) -> None:
    with serving("127.0.0.1", port, lambda: Page(b"no", status=500)):
        assert httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 500


def test_a_port_of_another_server_is_taken(port: int) -> None:
    refuse_taken("127.0.0.1", port)
    with serving("127.0.0.1", port, lambda: Page(b"")), pytest.raises(OSError, match="in use"):
        refuse_taken("127.0.0.1", port)
