from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.demo.fill import DEPTH, fill


def one(schema: dict[str, Any], text: str, name: str = "value") -> Any:
    """The value of one required property."""
    return fill({"type": "object", "properties": {name: schema}, "required": [name]}, text)[name]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Call f with value Paris and g", "Paris"),
        ("Call f with value New York.", "New York"),
        ("Call f with value=a/b.py, then stop", "a/b.py"),
        ('f with value: "x, y" please', "x, y"),
        ("f with value `ls -l`", "ls -l"),
        ("Tell me 'something'.", "something"),
        ("no hint at all", "no hint at all"),
    ],
)
def test_strings_come_from_the_text(text: str, value: str) -> None:
    assert one({"type": "string"}, text) == value


@pytest.mark.parametrize(
    "text", ["Weather in Oslo?", "What is the weather in Oslo today?", "the weather for Oslo, please"]
)
def test_places_follow_their_preposition(text: str) -> None:
    assert one({"type": "string"}, text, "city") == "Oslo"


def test_numbers_come_from_the_text_or_the_schema() -> None:
    assert one({"type": "integer"}, "f with value 12 or 5") == 12
    assert one({"type": "number"}, "about -2.5 or so") == -2.5
    assert one({"type": "integer", "minimum": 3}, "none") == 3
    assert one({"type": "integer"}, "none") == 1


def test_booleans() -> None:
    assert one({"type": "boolean"}, "anything") is True
    assert one({"type": "boolean"}, "value=false") is False


def test_what_the_schema_fixes_wins() -> None:
    assert one({"const": 5}, "value 6") == 5
    assert one({"type": "string", "default": "d"}, "value 6") == "d"
    assert one({"enum": ["C", "F"]}, "in F") == "F"
    assert one({"enum": ["C", "F"]}, "none") == "C"


def test_arrays_have_an_item_only_where_one_is_needed() -> None:
    assert one({"type": "array", "items": {"type": "integer"}}, "4") == []
    assert one({"type": "array", "items": {"type": "integer"}, "minItems": 1}, "4") == [4]


def test_optional_properties_only_when_named() -> None:
    schema = {"type": "object", "properties": {"unit": {"type": "string"}}}
    assert fill(schema, "hello") == {}
    assert fill(schema, "with unit C") == {"unit": "C"}


def test_references_alternatives_and_null() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": ["null", "string"]}, "c": {"type": "null"}},
        "required": ["a", "b", "c"],
        "$defs": {"n": {"anyOf": [{"type": "null"}, {"type": "integer"}]}},
    }
    assert fill(schema, "7") == {"a": 7, "b": "7", "c": None}


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    value, depth = fill(schema, ""), 0
    while isinstance(value, dict) and "next" in value:
        value, depth = value["next"], depth + 1
    assert 0 < depth <= DEPTH


KEYS = st.sampled_from(["type", "properties", "required", "items", "enum", "$ref", "anyOf", "minItems", "a", "default"])
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "array", "string", "integer", "#/a", "a"])
)
SCHEMAS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5))


@given(SCHEMAS, st.text())
def test_no_schema_is_too_odd(schema: Any, text: str) -> None:
    assert fill(schema, text) == fill(schema, text)
