from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UpstreamError
from core.sse import Event, EventDecoder

LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
NAMES = st.sampled_from(("", "", "error", "message"))


def decode(pieces: Iterable[bytes]) -> list[Event]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.flush()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(edges)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[Event]]:
    eol = draw(st.sampled_from(("\n", "\r\n", "\r")))
    wire, expected = "\ufeff" if draw(st.booleans()) else "", []
    events = draw(st.lists(st.tuples(NAMES, st.lists(LINES, min_size=1, max_size=3)), max_size=5))
    for name, lines in events:
        # An optional blank is taken away after the colon, so a line that begins with one needs one more.
        colon = (
            st.just("data: ") if any(line.startswith(" ") for line in lines) else st.sampled_from(("data: ", "data:"))
        )
        wire += eol * draw(st.integers(0, 2))
        wire += draw(st.sampled_from(("", f": keep-alive{eol}", f":{eol}{eol}", f"id: 7{eol}retry: 3{eol}")))
        wire += f"event: {name}{eol}" if name else ""
        wire += "".join(draw(colon) + line + eol for line in lines) + eol
        expected.append(Event(name, "\n".join(lines).encode()))
    unended = draw(st.booleans())
    if events and unended:
        wire = wire.removesuffix(eol)
    return wire.encode(), expected


@given(streams(), st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cutting_gives_the_same_events(stream: tuple[bytes, list[Event]], places: list[int]) -> None:
    wire, expected = stream
    assert decode(cut(wire, places)) == expected
    assert decode(bytes([byte]) for byte in wire) == expected


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_any_bytes_give_the_same_however_cut(wire: bytes, places: list[int]) -> None:
    assert decode(cut(wire, places)) == decode([wire])


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"data: a\n\n", [Event("", b"a")]),
        (b"data:a\n\n", [Event("", b"a")]),
        (b"data:  a \n\n", [Event("", b" a ")]),
        (b"data\n\n", [Event("", b"")]),
        (b"data: a\ndata: b\n\n", [Event("", b"a\nb")]),
        (b"event: error\ndata: a\n\n", [Event("error", b"a")]),
        (b"data: a\nevent: error\n\n", [Event("error", b"a")]),
        (b"event: ping\n\n", []),
        (b": comment\n\n:\n\n", []),
        (b"dat: a\n\nDATA: a\n\n", []),
        (b"\n\n\n\ndata: a\n\n\n\n", [Event("", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("", b"a")]),
        (b"data: \xef\xbb\xbfa\n\n", [Event("", b"\xef\xbb\xbfa")]),
        (b"data: a\xe2\x80\xa8b\x85\x0b\x0c\n\n", [Event("", b"a\xe2\x80\xa8b\x85\x0b\x0c")]),
        (b"data: a\n\ndata: b", [Event("", b"a"), Event("", b"b")]),
        (b"data: a\r\n\r\ndata: b\r\r", [Event("", b"a"), Event("", b"b")]),
        (b"", []),
    ],
)
def test_events_of_a_stream(wire: bytes, expected: list[Event]) -> None:
    assert decode([wire]) == expected


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n", b"\r\n\n"])
def test_an_event_is_given_with_its_last_byte_not_with_the_next_event(end: bytes) -> None:
    decoder = EventDecoder()
    pieces = [bytes([byte]) for byte in b"data: a" + end]
    given_at = [number for number, piece in enumerate(pieces, 1) if decoder.feed(piece)]
    # The LF behind a CR is no line of its own, so CRLF CRLF is over at its second CR.
    assert given_at == [len(pieces) - (1 if end in (b"\r\n\r\n", b"\n\r\n") else 0)]


def test_the_line_feed_of_a_cut_crlf_is_no_blank_line() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\ndata: b\r") == []
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"\r\n") == [Event("", b"a\nb")]


def test_flush_gives_the_last_event_once() -> None:
    decoder = EventDecoder()
    decoder.feed(b"data: a\r")
    assert decoder.flush() == [Event("", b"a")]
    assert decoder.flush() == []


def test_an_endless_event_is_refused() -> None:
    decoder = EventDecoder(limit=100)
    decoder.feed(b"data: " + b"x" * 90)
    with pytest.raises(UpstreamError, match="more than 100 bytes") as caught:
        decoder.feed(b"x" * 10)
    assert caught.value.status == 502


def test_the_limit_is_one_event_s_and_not_the_stream_s() -> None:
    decoder = EventDecoder(limit=100)
    for _ in range(50):
        assert decoder.feed(b"data: " + b"x" * 50 + b"\n\n") == [Event("", b"x" * 50)]


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("size", "piece"), [(2_000_000, 1024), (300_000, 1)])
def test_a_large_event_in_small_pieces_takes_linear_time(eol: bytes, size: int, piece: int) -> None:
    wire = b"data: " + b"x" * size + eol + eol
    pieces = [wire[at : at + piece] for at in range(0, len(wire), piece)]
    found: list[Event] = []
    # Quadratic, the first would copy 2 GB and the second 45 GB.
    assert seconds(lambda: found.extend(decode(pieces))) < 1.0
    assert [len(event.data) for event in found] == [size]
