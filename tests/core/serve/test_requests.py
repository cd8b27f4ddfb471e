from __future__ import annotations

import pytest
from hypercorn.protocol.h11 import H2ProtocolAssumedError
from hypothesis import given
from hypothesis import strategies as st

from core.serve.heads import RefusedError
from core.serve.requests import PREFACE, Requests

ONE = b"POST /1 HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\nhello"
TWO = b"POST /2 HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
THREE = b"GET /3 HTTP/1.1\r\nhost: h\r\n\r\n"


def read(requests: Requests, *pieces: bytes) -> list[tuple[bytes, bytes]]:
    """Targets and bodies of the complete ones."""
    found = []
    target, body = b"", b""
    for piece in pieces:
        requests.add(piece)
        while True:
            if not requests.current:
                if (head := requests.next()) is None:
                    break
                target, body = head.target, b""
            if not requests.complete:
                body += requests.body()
            if not requests.complete:
                break
            found.append((target, body))
            requests.release()
    return found


def test_one_after_the_other() -> None:
    requests = Requests(1000)
    requests.add(ONE + THREE)
    assert not requests.current
    head = requests.next()
    assert head is not None
    assert (head.target, requests.current, requests.complete) == (b"/1", True, False)
    assert requests.body() == b"hello"
    assert (requests.complete, requests.rest) == (True, THREE)
    requests.release()
    head = requests.next()
    assert head is not None
    assert (head.target, requests.complete, requests.rest) == (b"/3", True, b"")
    requests.release()
    assert requests.next() is None


@given(st.permutations([ONE, TWO, THREE, ONE, TWO]), st.data())
def test_any_way_to_cut_them_gives_the_same(wires: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(wires)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(wire)), max_size=20)))
    pieces = [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    expected = {ONE: (b"/1", b"hello"), TWO: (b"/2", b"hi"), THREE: (b"/3", b"")}
    requests = Requests(1000)
    assert read(requests, *pieces) == [expected[one] for one in wires]
    assert (requests.rest, requests.current) == (b"", False)


@pytest.mark.parametrize("cut", range(len(PREFACE) + 6))
def test_http2_begins_however_it_is_cut(cut: int) -> None:
    wire = PREFACE + b"SM\r\n\r\n"
    requests = Requests(1000)
    with pytest.raises(H2ProtocolAssumedError) as assumed:
        read(requests, wire[:cut], wire[cut:])
    assert wire.startswith(assumed.value.data)
    assert len(assumed.value.data) == (cut if cut >= len(PREFACE) else len(wire))


@pytest.mark.parametrize("wire", [ONE + PREFACE, b"PRI * HTTP/2.0\r\nx: y\r\n\r\n", b"PRI /x HTTP/2.0\r\n\r\n"])
def test_http2_begins_with_its_preface_or_not_at_all(wire: bytes) -> None:
    with pytest.raises(RefusedError):
        read(Requests(1000), wire)


@pytest.mark.parametrize("first", [b"\r", b"\n", b" ", b"\x16", b"\x80", b"GET / HTTP/1.1\nh", b"GET / HTTP/1.1\rh"])
def test_what_cannot_become_a_request_is_refused_at_once(first: bytes) -> None:
    for before in (b"", THREE, ONE, TWO):
        with pytest.raises(RefusedError) as refused:
            read(Requests(1000), before + first)
        assert refused.value.status == 400


def test_a_line_feed_in_a_later_read() -> None:
    requests = Requests(1000)
    read(requests, b"GET / HTTP/1.1\r")
    read(requests, b"\nhost: h\r")
    with pytest.raises(RefusedError):
        read(requests, b"\nx: y\n")


def test_the_limit_of_a_head() -> None:
    head = b"GET / HTTP/1.1\r\nhost: h\r\nx: " + b"y" * 100 + b"\r\n\r\n"
    assert read(Requests(len(head)), head) == [(b"/", b"")]
    for pieces in ([head], [head[:-1]], [head[:-30], head[-30:]], [bytes([byte]) for byte in head]):
        limit = len(head) - (1 if pieces != [head[:-1]] else 2)
        with pytest.raises(RefusedError) as refused:
            read(Requests(limit), *pieces)
        assert refused.value.status == 431


def test_what_comes_behind_a_head_counts_for_no_limit() -> None:
    body = b"x" * 5000
    wire = b"POST /1 HTTP/1.1\r\nhost: h\r\ncontent-length: 5000\r\n\r\n" + body
    assert read(Requests(100), wire) == [(b"/1", body)]


def test_trailers_have_the_same_limit() -> None:
    with pytest.raises(RefusedError) as refused:
        read(Requests(100), TWO[:-2] + b"x: " + b"y" * 200)
    assert refused.value.status == 431
