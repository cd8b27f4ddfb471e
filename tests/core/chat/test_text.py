from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.text import Joiner, dumps, loads, whole


def join(pieces: list[str]) -> str:
    joiner = Joiner()
    return "".join(map(joiner.feed, pieces)) + joiner.flush()


def units(text: str) -> list[str]:
    """The text's UTF-16 units, as servers escape them one by one."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.integers(0, 100)))
def test_text_cut_between_any_two_units_comes_out_whole(text: str, places: list[int]) -> None:
    halves = units(text)
    edges = sorted({place % (len(halves) + 1) for place in places} | {0, len(halves)})
    pieces = ["".join(halves[start:end]) for start, end in pairwise(edges)]
    assert join(pieces) == text


@given(st.lists(st.text(st.characters(categories=["Cs"]) | st.sampled_from("aé👍"), max_size=4)))
def test_what_comes_out_can_always_be_encoded(pieces: list[str]) -> None:
    joined = join(pieces)
    assert joined.encode().decode() == joined
    assert joined == whole("".join(pieces))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["\ud83d", "\udc4d"], ["", "👍"]),
        (["a\ud83d", "", "\udc4db"], ["a", "", "👍b"]),
        (["\ud83d\udc4d"], ["👍"]),
        (["\ud83d", "a"], ["", "\ufffda"]),
        (["\udc4d", "a"], ["\ufffd", "a"]),
        (["\ud83d", "\ud83d", "\udc4d"], ["", "\ufffd", "👍"]),
    ],
)
def test_each_piece(pieces: list[str], expected: list[str]) -> None:
    joiner = Joiner()
    assert list(map(joiner.feed, pieces)) == expected
    assert joiner.flush() == ""


def test_a_half_without_its_other_half_is_told_once() -> None:
    joiner = Joiner()
    assert joiner.feed("a\ud83d") == "a"
    assert (joiner.flush(), joiner.flush()) == ("\ufffd", "")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": "\\ud83d"}', {"a": "\ud83d"}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890.0}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": "x\xff\xe2\x82y"}', {"a": "x\ufffd\ufffdy"}),
        ('{"a": "\\ud83d"}', {"a": "\ud83d"}),
        (b" 1 ", 1),
    ],
)
def test_json_as_engines_write_it(data: bytes | str, expected: object) -> None:
    assert loads(data) == expected


def test_nan_is_read() -> None:
    assert math.isnan(loads(b'{"a": NaN}')["a"])


@pytest.mark.parametrize("data", [b"", b"{", b'{"a":', b"nope", b"[" * 100_000, b'{"a": "\xe2'])
def test_what_is_no_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        loads(data)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("value", [{"a": ["é", None, 1.5]}, {"maximum": 2**70}, {"a": "\ud83d"}, nested(300)])
def test_what_is_written_can_be_read(value: Any) -> None:
    assert json.loads(dumps(value)) == value


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        dumps(nested(100_000))
