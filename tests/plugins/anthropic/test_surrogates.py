from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.anthropic.surrogates import mended


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"cut \ud83d", "cut \ufffd"),
        (r"\ude00 rest", "\ufffd rest"),
        (r"\uD83D\uDE00", "\U0001f600"),
        (r"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (r"C:\\ud83d", r"C:\ud83d"),
        (r"\\\ud83d", "\\\ufffd"),
        (r"\ud83d\\\ude00", "\ufffd\\\ufffd"),
        (r"\u0041\n", "A\n"),
    ],
)
def test_halves(text: str, expected: str) -> None:
    data = f'{{"a":"{text}"}}'.encode()
    assert orjson.loads(mended(data)) == {"a": expected}
    assert len(mended(data)) == len(data)


def test_a_body_with_a_null_byte_stays() -> None:
    data = b'"\0\0\\ud83d"'
    assert mended(data) is data


PIECES = (r"\ud83d", r"\ude00", r"\uDbFf", r"\\", r"\n", r"\"", "u", "d83d", "a", "\u00e9")


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_it_is_what_a_lenient_reader_reads(text: str) -> None:
    read = json.loads(f'"{text}"').encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert orjson.loads(mended(f'"{text}"'.encode())) == read
