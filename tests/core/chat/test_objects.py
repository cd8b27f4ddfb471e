from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.objects import ObjectScanner, objects
from core.testing.strategies import tool_inputs


def scan(*pieces: str) -> tuple[str, str, bool]:
    """What the object has of the pieces, what stands behind it, and whether it was closed."""
    scanner, inside, behind = ObjectScanner(), "", ""
    for piece in pieces:
        text, end = scanner.feed(piece)
        inside += text
        behind += piece[end:]
    return inside, behind, scanner.closed


@given(tool_inputs(), st.booleans(), st.text(st.sampled_from('{}[]" x'), max_size=5))
def test_an_object_ends_at_its_last_brace(value: dict[str, Any], ascii_: bool, behind: str) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    assert scan(text + behind) == scan(*text, *behind) == (text, behind, True)
    assert scan(text[:-1])[2] is False


def test_it_may_begin_anywhere_in_a_text() -> None:
    assert ObjectScanner().feed('xx{"a":"\n"}yy', 2) == ('{"a":"\\n"}', 11)
    assert ObjectScanner().feed("xx", 2) == ("", 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a\nb":"\t"}', '{"a\\nb":"\\t"}'),
        ('{\n"a":\t1}', '{\n"a":\t1}'),
        ('{"a":"\x00\x1f\x7f"}', '{"a":"\\u0000\\u001f\x7f"}'),
        ('{"a":"\\\n"}', '{"a":"\\\n"}'),  # an escape that JSON does not know: what was meant is not known either
    ],
)
def test_control_characters_are_escaped_within_strings_alone(text: str, expected: str) -> None:
    assert scan(text)[0] == scan(*text)[0] == expected


def test_an_escape_cut_in_two() -> None:
    assert scan('{"\\', '"}"', "}") == ('{"\\"}"}', "", True)
    assert scan('{"\\', "", "\\", '"', "}") == ('{"\\\\"}', "", True)


def test_nothing_behind_the_last_brace_is_the_object_s() -> None:
    scanner = ObjectScanner()
    scanner.feed("{}")
    assert scanner.feed("{}") == ("", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", ["{}"]),
        ("{}{}", ["{}", "{}"]),
        ('{"a":"}{"}\n {"b":{}} x{}', ['{"a":"}{"}', '{"b":{}} x{}']),
        ("{}{", ["{}", "{"]),
        ("{}x", ["{}x"]),
        ("{} ", ["{} "]),
        ("{", ["{"]),
    ],
)
def test_a_text_is_cut_before_each_object_that_follows_another(text: str, expected: list[str]) -> None:
    assert list(objects(text)) == expected
