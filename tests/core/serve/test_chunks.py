from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.serve.chunks import FRAMING, Chunks
from core.serve.heads import RefusedError

GOOD = (
    (b"0\r\n\r\n", b""),
    (b"2\r\nhi\r\n0\r\n\r\n", b"hi"),
    (b"A\r\n0123456789\r\n0000000000000001;a=b;c\r\n!\r\n00\r\n\r\n", b"0123456789!"),
    (b'2;a="b, c"\r\n\r\n\r\n1;\r\n0\r\n0\r\nx: y\r\nz:\r\n\r\n', b"\r\n0"),
)


def read(chunks: Chunks, *pieces: bytes) -> tuple[bytes, bytes]:
    content, rest = b"", b""
    for piece in pieces:
        came, rest = chunks.feed(rest + piece)
        content += came
    return content, rest


@pytest.mark.parametrize(("wire", "content"), GOOD)
@pytest.mark.parametrize("behind", [b"", b"GET / HTTP/1.1\r\n", b"\r\n"])
def test_a_body_ends_where_it_ends(wire: bytes, content: bytes, behind: bytes) -> None:
    chunks = Chunks(1000)
    assert read(chunks, wire + behind) == (content, behind)
    assert chunks.done


@pytest.mark.parametrize(("wire", "content"), GOOD)
def test_byte_by_byte(wire: bytes, content: bytes) -> None:
    chunks = Chunks(1000)
    came = b""
    rest = b""
    for number in range(len(wire)):
        assert not chunks.done
        piece, rest = chunks.feed(rest + wire[number : number + 1])
        came += piece
    assert (came, rest, chunks.done) == (content, b"", True)


def test_content_is_not_held_back() -> None:
    chunks = Chunks(1000)
    assert chunks.feed(b"ffffffffffffffff\r\nabc") == (b"abc", b"")
    assert chunks.feed(b"d" * 100) == (b"d" * 100, b"")
    assert not chunks.done


@pytest.mark.parametrize(
    "wire",
    [
        b"\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b"0x1\r\n",
        b"1 \r\nx",
        b" 1\r\nx",
        b"1_0\r\nx",
        b"g\r\n",
        b"1\nx",
        b"1\rx",
        b"11111111111111111\r\n",
        b"00000000000000001\r\nx",
        b"1;a\x00\r\nx",
        b"1;a\nx",
        b"1;a\rb\r\nx",
        b"1 ;a\r\nx",
        b"2\r\nhi0\r\n",
        b"2\r\nhi\n0\r\n",
        b"2\r\nhi\r0",
        b"2\r\nhix",
        b"2\r\nhi\r\n\r\n",
        b"0\r\n\n",
        b"0\r\nx\r\n\r\n",
        b"0\r\nx : y\r\n\r\n",
        b"0\r\n: y\r\n\r\n",
        b"0\r\nContent-Length: 5\r\n\r\n",
        b"0\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n",
        b"0\r\nx: y\n\r\n",
        b"0\r\nx: y\r\n z\r\n\r\n",
        b"0\r\nx: \x00\r\n\r\n",
    ],
)
def test_what_is_refused(wire: bytes) -> None:
    for pieces in ([wire], [wire[number : number + 1] for number in range(len(wire))]):
        with pytest.raises(RefusedError) as refused:
            read(Chunks(1000), *pieces)
        assert refused.value.status == 400


@pytest.mark.parametrize(
    "wire",
    [
        b"1;" + b"a" * 2000,
        b"1;" + b"a" * 2000 + b"\r\nx",
        b"0\r\nx: " + b"y" * 2000,
        b"0\r\n" + b"x: y\r\n" * 300 + b"\r\n",
        (b"1;" + b"a" * 100 + b"\r\nx\r\n") * 30,
    ],
)
def test_what_is_too_large(wire: bytes) -> None:
    for size in (1, 7, 100_000):
        with pytest.raises(RefusedError) as refused:
            read(Chunks(1000), *[wire[at : at + size] for at in range(0, len(wire), size)])
        assert refused.value.status == 431


def test_chunks_of_a_byte_may_go_on_for_ever() -> None:
    many = Chunks(100)
    assert many.feed(b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n") == (b"x" * 10_000, b"")
    assert len(b"\r\n1\r\n") < FRAMING


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=6), st.data())
def test_any_content_in_any_pieces(contents: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(b"%x\r\n%b\r\n" % (len(content), content) for content in contents) + b"0\r\n\r\nnext"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(wire)))))
    pieces = [wire[start:end] for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    chunks = Chunks(1000)
    assert read(chunks, *pieces) == (b"".join(contents), b"next")
    assert chunks.done
