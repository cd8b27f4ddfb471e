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


@given(st.lists(st.text(st.sampled_from('{}[]":\\a1 ,\n\ud83d\udc4d'), max_size=4)))
def test_no_character_is_lost_and_no_text_breaks_it(pieces: list[str]) -> None:
    calls = [Arguments()]
    for piece in pieces:
        for text in calls[-1].add(piece):
            calls.append(Arguments())
            assert not calls[-1].add(text)
    text = "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").lstrip()
    if text and text[:2] != '"{':
        assert solid("".join(map(said, calls))) == solid(text)


def said(arguments: Arguments) -> str:
    """All that was put in."""
    out = arguments.pull() + arguments.end()
    value = readable(out) or {}
    return str(value.get("unparsed_arguments", out)) + arguments.behind


def solid(text: str) -> str:
    """The text without its blanks, raw or escaped."""
    return "".join(text.replace("\\n", "").split())


def readable(text: str) -> Any:
    """What a strict reader makes of arguments; None for what is no JSON object."""
    try:
        value = json.loads(text, parse_constant=int)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def test_blanks_in_front_wait_for_what_follows() -> None:
    arguments = Arguments()
    arguments.add(" \n")
    assert (arguments.pull(), arguments.begun) == ("", False)
    arguments.add(" {")
    arguments.add("\n ")
    assert (arguments.pull(), arguments.begun, arguments.complete) == ("", True, False)
    arguments.add('"a"')
    assert arguments.pull() == '{\n "a"'
    arguments.add(":1} \n")
    assert (arguments.pull(), arguments.complete, arguments.end()) == (":1}", True, "")


CONTROLS = "".join(map(chr, range(32)))


@given(st.dictionaries(st.text(st.sampled_from(CONTROLS + 'a"\\\x7f')), st.text(st.sampled_from(CONTROLS + 'é"\\}'))))
def test_raw_control_characters_in_strings_are_escaped(value: dict[str, str]) -> None:
    quoted = {'"' + escaped(key) + '"': '"' + escaped(text) + '"' for key, text in value.items()}
    text = "{\n" + ",\t".join(f"{key}:\n{item}" for key, item in quoted.items()) + "\r\n}"
    assert json.loads(go_through(text)) == value
    assert go_through(*text) == go_through(text)
    assert json.loads(go_through(json.dumps(text))) == value


def escaped(text: str) -> str:
    """The inside of a JSON string as weak models write it: only what they must escape is escaped."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


@pytest.mark.parametrize(
    "text", ["{'a': 1}", "{a: 1}", "{ NaN}", '{\\"a\\": 1}', "{,}", "{[", "{\x0b}", '{\u00a0"a":1}']
)
def test_a_text_that_begins_as_no_object_is_never_streamed(text: str) -> None:
    arguments = Arguments()
    for character in text:
        arguments.add(character)
        assert arguments.pull() == ""
    assert json.loads(arguments.end()) == {"unparsed_arguments": text}
    assert arguments.behind == ""


@pytest.mark.parametrize("behind", ["}", "]}", "</tool_call>", "\n```", "x\ny ", ", and so on", "x{}"])
def test_text_behind_the_object_is_no_part_of_it(behind: str) -> None:
    for pieces in (['{"a":1}' + behind], ['{"a":1', "}", behind], ['{"a":1}', *behind]):
        arguments = Arguments()
        assert [text for piece in pieces for text in arguments.add(piece)] == []
        assert (arguments.pull() + arguments.end(), arguments.behind) == ('{"a":1}', behind.strip())


@pytest.mark.parametrize(
    "text",
    [
        '{"code":"say "}"}',
        '{"code":"f("}") and \n more"}',
        '{"a":1}, "b": 2}',
        '{"a":tru}x',
        '{"a":NaN}}',
        '{"a":Infinity} x',
        '{"a":}}',
        '{"a" 1}]',
    ],
)
def test_a_broken_object_stays_broken_with_what_stands_behind_it(text: str) -> None:
    arguments = Arguments()
    assert list(arguments.add(text)) == []
    assert (arguments.pull() + arguments.end(), arguments.behind) == (text, "")
    assert readable(text) is None
    assert go_through(*text) == text


@pytest.mark.parametrize(
    "text", ["{", '{"a', '{"a": tru', '{"a": "b', '{"a": "b\\', '{"a":tru}', '{"a":NaN}', '{"a":01}']
)
def test_what_is_cut_or_wrong_further_on_stays_as_it_is(text: str) -> None:
    assert go_through(text) == go_through(*text) == text


def test_further_objects_are_given_back() -> None:
    arguments = Arguments()
    assert list(arguments.add('{"a"')) == []
    assert list(arguments.add(':"}{"} {"b":2}\n{"c":{}}x')) == ['{"b":2}', '{"c":{}}x']
    assert (arguments.pull() + arguments.end(), arguments.behind) == ('{"a":"}{"}', "")
    assert arguments.complete


@pytest.mark.parametrize(
    "text", ['{"a":1}x', "{}}", '{"a":"}', '{"a":"\\"}', '{"a":{"b":1}', '{"a":[}', "[]", "null", '"{}"', ""]
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
    arguments.add(" ")
    assert arguments.repeats('{"a":1} ')
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
        ('"{\\"a\\": NaN}"', {"unparsed_arguments": '"{\\"a\\": NaN}"'}),
        ('"{\\"a\\": 1}}"', {"unparsed_arguments": '"{\\"a\\": 1}}"'}),
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


@pytest.mark.parametrize("piece", ["}", "{", '\\"', "text", "{}", "\n", "\\"])
def test_many_pieces_take_linear_time(piece: str) -> None:
    arguments = Arguments()
    began = time.process_time()
    arguments.add('{"a":"')
    for _ in range(100_000):
        arguments.add(piece)
        assert not arguments.complete
        arguments.pull()
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize(
    "text", ["{}" * 50_000, "{} " * 50_000, '{"é":1}' * 50_000, "{" + "\n" * 100_000, "{}" + "x{" * 50_000]
)
def test_any_one_piece_takes_linear_time(text: str) -> None:
    began = time.process_time()
    arguments = Arguments()
    arguments.add(text)
    arguments.end()
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize(("first", "piece"), [("{", "\n"), ("{}", " "), ("{}", "x"), ("{}x", "{"), ("", " ")])
def test_many_pieces_around_the_object_take_linear_time(first: str, piece: str) -> None:
    arguments = Arguments()
    began = time.process_time()
    arguments.add(first)
    for _ in range(100_000):
        assert not arguments.add(piece)
        assert not arguments.repeats('{"a":1}')
        arguments.pull()
    arguments.end()
    assert time.process_time() - began < 2.0
