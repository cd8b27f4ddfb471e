"""What the served process does with clients that do not keep to HTTP: the limits of the door, on real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import h2.connection
import h2.errors
import h2.events
import httpx
import orjson
import pytest

from core.serve.protocols import BURST
from tests.server.serve import Serve, serve

KEEP_ALIVE = 1.0
"""Seconds; also what the headers of a request may take."""
SECRET = b"GET /v1/models HTTP/1.1\r\nhost: h\r\n\r\n"
POST = b"POST /v1/messages HTTP/1.1\r\nhost: h\r\n"


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    directory = tmp_path_factory.mktemp(request.param)
    with serve(directory, "--worker-class", request.param, "--keep-alive", f"{KEEP_ALIVE:g}") as gateway:
        yield gateway
        assert gateway.end() == 0
        assert b"Traceback" not in gateway.log.read_bytes()


@pytest.fixture(autouse=True)
def _still_serves(served: Serve) -> Iterator[None]:
    """After each of the tests the same process answers as ever."""
    before = served.workers()
    yield
    assert httpx.get(f"{served.url}/v1/models", timeout=10).status_code == 200
    assert served.workers() == before
    assert served.lines("a worker ended") == []


def connect(served: Serve) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=10)


def rest(connection: socket.socket) -> bytes:
    """What comes until the server closes or resets the connection."""
    seen = b""
    try:
        while data := connection.recv(65536):
            seen += data
    except ConnectionError:
        pass
    return seen


def test_a_header_byte_every_moment_is_cut(served: Serve) -> None:
    began = time.monotonic()
    with connect(served) as client:
        client.sendall(POST + b"x: ")
        client.settimeout(0.05)
        answer = None
        while answer is None:
            assert time.monotonic() - began < 5 * KEEP_ALIVE
            try:
                client.sendall(b"y")
                answer = client.recv(100)
            except TimeoutError:
                continue
            except ConnectionError:
                answer = b""
    assert answer == b""
    assert time.monotonic() - began >= KEEP_ALIVE


@pytest.mark.parametrize("lines", [b"x: " + b"y" * 300_000, b"x: y\r\n" * 50_000])
def test_headers_that_are_too_large(served: Serve, lines: bytes) -> None:
    with connect(served) as client:
        try:
            client.sendall(POST + lines + b"\r\n\r\n")
        except ConnectionError:
            return
        answer = rest(client)
    # A client that still sends may see the reset before the answer.
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"content-length: 44\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + SECRET,
        POST + b"content-length: 0\r\ncontent-length: 44\r\n\r\n" + SECRET,
        POST + b"transfer-encoding: xchunked\r\n\r\n" + SECRET,
        POST + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n" + SECRET,
        POST + b"content-length : 0\r\n\r\n" + SECRET,
    ],
)
def test_one_request_gets_one_answer(served: Serve, sent: bytes) -> None:
    with connect(served) as client:
        client.sendall(sent)
        answer = rest(client)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "head",  # of a request whose body would be the secret one
    [
        b"POST /v1/messages HTTP/1.1\nhost: h\ncontent-length: 36\nconnection: close\n\n",
        POST + b"x: a\r\n content-length: 0\r\ncontent-length: 36\r\nconnection: close\r\n\r\n",
        POST + b"content-length: 36\r\nx: a\r\n\tb\r\nconnection: close\r\n\r\n",
    ],
)
def test_bare_line_feeds_and_folded_headers_are_refused(served: Serve, head: bytes) -> None:
    with connect(served) as client:
        client.sendall(head + SECRET)
        answer = rest(client)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert orjson.loads(answer.partition(b"\r\n\r\n")[2])["error"]["type"] == "invalid_request_error"


def test_rapid_resets_of_http2(served: Serve) -> None:
    connection = h2.connection.H2Connection()
    connection.initiate_connection()
    headers = [(":method", "POST"), (":path", "/v1/messages"), (":authority", "h"), (":scheme", "http")]
    for _ in range(3 * BURST):
        stream = connection.get_next_available_stream_id()
        connection.send_headers(stream, headers)
        connection.reset_stream(stream)
    with connect(served) as client:
        client.sendall(connection.data_to_send())
        events = connection.receive_data(rest(client))
    (gone,) = [event for event in events if isinstance(event, h2.events.ConnectionTerminated)]
    assert gone.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
