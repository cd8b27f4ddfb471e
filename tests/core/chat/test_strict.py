from __future__ import annotations

from typing import Any

import pytest

from core.chat.strict import fits_strict

TEXT = {"type": "string", "pattern": "a+"}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": False},
        closed(),
        closed(a=TEXT, b={"type": ["integer", "null"]}, c={"enum": [1, 2]}, d={"const": 1}),
        closed(a=closed(b={"type": "array", "items": closed(c=TEXT)})),
        closed(a={"anyOf": [TEXT, closed(b=TEXT)]}),
        {**closed(a={"$ref": "#/$defs/n"}), "$defs": {"n": closed(next={"$ref": "#/$defs/n"})}},
        # A property may be called what a keyword is.
        closed(type=TEXT, oneOf=TEXT, required=TEXT, properties=TEXT),
    ],
)
def test_schemas_of_the_subset(schema: dict[str, Any]) -> None:
    assert fits_strict(schema)


OPEN = {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}
OPTIONAL = {"type": "object", "properties": {"b": TEXT}, "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        TEXT,
        {"anyOf": [closed()]},
        {**closed(), "anyOf": [closed()]},
        OPEN,
        OPTIONAL,
        {**OPEN, "additionalProperties": True},
        {**OPEN, "additionalProperties": TEXT},
        closed(a=OPEN),
        closed(a=OPTIONAL),
        closed(a={"type": "array", "items": OPTIONAL}),
        closed(a={"anyOf": [TEXT, OPEN]}),
        closed(a={"type": ["object", "null"]}),
        closed(a={"type": "array", "items": {}}),
        closed(a={}),
        closed(a=True),
        closed(a={"oneOf": [TEXT]}),
        closed(a={**TEXT, "not": {"const": "a"}}),
        {**closed(a={"$ref": "#/$defs/n"}), "$defs": {"n": OPTIONAL}},
        {**closed(), "properties": [1]},
        {**closed(), "required": "a"},
        {**closed(), "allOf": [closed()]},
    ],
)
def test_schemas_outside(schema: dict[str, Any]) -> None:
    assert not fits_strict(schema)


def test_no_depth_breaks_it() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(5000):
        schema = closed(a=schema)
    assert fits_strict(schema)
