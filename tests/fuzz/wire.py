"""Raw bytes of HTTP/1 and HTTP/2 clients, good ones and what becomes of them, and a reader of what comes back."""

from __future__ import annotations

from typing import Final

import h2.connection
from hypothesis import strategies as st

from tests.fuzz.bodies import GOOD
from tests.fuzz.mutations import bytes_of, written

SMALL: Final = written(GOOD[0])
HOST: Final = b"host: h\r\n"
REQUESTS: Final = (
    b"GET /healthz HTTP/1.1\r\n%b\r\n" % HOST,
    b"HEAD / HTTP/1.1\r\n%bconnection: close\r\n\r\n" % HOST,
    b"GET /v1/models?limit=1 HTTP/1.0\r\n\r\n",
    b"POST /v1/messages HTTP/1.1\r\n%bcontent-length: %d\r\n\r\n%b" % (HOST, len(SMALL), SMALL),
    b"POST /v1/messages HTTP/1.1\r\n%btransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
    % (HOST, len(SMALL), SMALL),
    b"POST /v1/messages HTTP/1.1\r\n%bcontent-length: 2\r\nexpect: 100-continue\r\n\r\n{}" % HOST,
    b"GET /v1 HTTP/1.1\r\n%bupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: eA==\r\nsec-websocket-version: 13\r\n\r\n"
    % HOST,
)


def _http2() -> bytes:
    connection = h2.connection.H2Connection()
    connection.initiate_connection()
    head = ((":method", "POST"), (":path", "/v1/messages"), (":authority", "h"), (":scheme", "http"))
    for stream in (1, 3):
        connection.send_headers(stream, head)
        connection.send_data(stream, SMALL, end_stream=True)
    return connection.data_to_send()


HTTP2: Final = _http2()


def talks() -> st.SearchStrategy[bytes]:
    """What a client sends on one connection: requests one behind the other, with faults, and noise."""
    rows = st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=4).map(b"".join)
    noise = st.binary(max_size=200)
    return rows | rows.flatmap(bytes_of) | rows.flatmap(bytes_of) | bytes_of(HTTP2) | noise


def statuses(data: bytes) -> list[int]:
    """The statuses of the HTTP/1 answers in these bytes; fails when one is not well formed, or cut off."""
    found = []
    while data:
        head, blank, data = data.partition(b"\r\n\r\n")
        version, status, *_ = head.split(b"\r\n")[0].split(b" ")
        assert blank, f"an answer's head is cut off: {head!r}"
        assert version == b"HTTP/1.1", head
        assert len(status) == 3, head
        found.append(int(status))
        data = _behind_body(head, data, int(status))
    return found


def _behind_body(head: bytes, data: bytes, status: int) -> bytes:
    lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
    headers = {name: value.strip() for name, _, value in lines}
    if status < 200 or status in (204, 304):
        return data
    if headers.get(b"transfer-encoding") == b"chunked":
        while True:
            size, _, data = data.partition(b"\r\n")
            count = int(size, 16)
            assert data[count : count + 2] == b"\r\n", data[:100]
            data = data[count + 2 :]
            if not count:
                return data
    length = int(headers.get(b"content-length", b"0"))
    if data[:8] == b"HTTP/1.1" or not data:  # the answer to a HEAD
        return data
    assert len(data) >= length, "an answer's body is cut off"
    return data[length:]
