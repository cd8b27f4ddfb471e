from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.arguments import Arguments, as_object, as_text
from core.testing.strategies import tool_inputs


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def go_through(*pieces: str) -> str:
    arguments = Arguments()
    out = ""
    for piece in pieces:
        arguments.add(piece)
        out += arguments.pull()
    return out + arguments.end()


@given(tool_inputs(), st.booleans(), st.sampled_from((None, 1)), st.lists(st.integers(0, 500), max_size=8))
def test_an_object_goes_through_unchanged(
    value: dict[str, Any], ascii_: bool, indent: int | None, places: list[int]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_, indent=indent)
    assert go_through(*cut(text, places)) == text
    assert go_through(*text) == text


@given(tool_inputs(), st.lists(st.integers(0, 500), max_size=8))
def test_the_end_of_the_object_is_seen_at_its_last_brace_and_not_before(
    value: dict[str, Any], places: list[int]
) -> None:
    arguments, text = Arguments(), json.dumps(value)
    seen = ""
    for piece in cut(text, places):
        arguments.add(piece)
        seen += piece
        assert arguments.complete == (seen == text)


@given(st.lists(st.text(st.sampled_from('{}[]":\\a ,\ud83d\udc4d'), max_size=4)))
def test_no_character_is_lost_and_no_text_breaks_it(pieces: list[str]) -> None:
    out = go_through(*pieces)
    text = "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").lstrip()
    if text.startswith("{"):
        assert out == text
    elif not text.startswith('"{'):
        assert json.loads(out) == ({"unparsed_arguments": text} if text.strip() else {})


def test_blanks_in_front_wait_for_what_follows() -> None:
    arguments = Arguments()
    arguments.add(" \n")
    assert (arguments.pull(), arguments.begun) == ("", False)
    arguments.add(' {"a"')
    assert (arguments.pull(), arguments.begun, arguments.complete) == ('{"a"', True, False)
    arguments.add(":1} \n")
    assert (arguments.pull(), arguments.complete, arguments.end()) == (":1} \n", True, "")


@pytest.mark.parametrize(
    "text", ['{"a":1}x', "{}{}", '{"a":"}', '{"a":"\\"}', '{"a":{"b":1}', '{"a":[}', "[]", "null", '"{}"', ""]
)
def test_what_is_not_complete(text: str) -> None:
    arguments = Arguments()
    arguments.add(text)
    assert not arguments.complete


def test_a_backslash_cut_from_what_it_escapes() -> None:
    arguments = Arguments()
    for piece in ('{"a":"\\', '"}', "\\", "\\", '"'):
        arguments.add(piece)
        assert not arguments.complete
    arguments.add("}")
    assert arguments.complete


def test_the_end_again_is_a_repetition() -> None:
    arguments = Arguments()
    for piece in ('{"a":', "1", "}"):
        arguments.add(piece)
        assert arguments.repeats(piece) == (piece == "}")
    assert arguments.repeats('{"a":1}')
    assert not arguments.repeats('{"a":2}')
    assert not arguments.repeats("")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"text"', {"unparsed_arguments": '"text"'}),
        ("[1]", {"unparsed_arguments": "[1]"}),
        ("7", {"unparsed_arguments": "7"}),
        ("true", {"unparsed_arguments": "true"}),
        ("city=Paris", {"unparsed_arguments": "city=Paris"}),
        ('"{\\"a\\":', {"unparsed_arguments": '"{\\"a\\":'}),
    ],
)
def test_arguments_that_are_no_object(text: str, expected: dict[str, Any]) -> None:
    assert json.loads(as_object(text)) == expected
    assert json.loads(go_through(*text)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"a":1}', '{"a":1}'),
        (None, ""),
        ({"a": 1}, '{"a":1}'),
        ({}, "{}"),
        ([], "[]"),
        (7, "7"),
        (True, "true"),
        ({"a": "\ud83d"}, '{"a": "\ud83d"}'),
    ],
)
def test_arguments_of_any_type(value: Any, expected: str) -> None:
    assert as_text(value) == expected


def test_arguments_too_deep_to_write() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert as_text(value) == ""


@pytest.mark.parametrize("piece", ["}", "{", '\\"', "text", "{}"])
def test_many_pieces_take_linear_time(piece: str) -> None:
    arguments = Arguments()
    began = time.process_time()
    arguments.add('{"a":"')
    for _ in range(100_000):
        arguments.add(piece)
        assert not arguments.complete
        arguments.pull()
    assert time.process_time() - began < 2.0
