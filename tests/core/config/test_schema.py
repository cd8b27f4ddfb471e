from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from jsonschema import Draft202012Validator

from core.config import Secret
from core.config.faults import TableError
from core.config.options import make_plugin, whole_table
from core.config.schema import class_schema, options_schema, resolved, secret_schema, type_schema
from core.config.types import make_converter

ge, le, gt, lt = attrs.validators.ge, attrs.validators.le, attrs.validators.gt, attrs.validators.lt


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Inner:
    depth: int
    names: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class Everything:
    """A field of each type that a table can hold."""

    flag: bool
    count: int = attrs.field(default=1, validator=[ge(1), le(9)])
    """How many."""
    share: float = attrs.field(default=0.5, validator=attrs.validators.and_(gt(0), lt(1)))
    limit: int | None = attrs.field(default=None, validator=attrs.validators.optional(ge(0)))
    either: int | str = 0
    word: str = ""
    mode: Literal["a", "b"] = "a"
    colour: Colour = Colour.RED
    file: Path = Path("x")
    secret: Secret | None = None
    secrets: Mapping[str, Secret] = attrs.field(factory=dict)
    names: Sequence[str] = ("n",)
    inner: Inner | None = None
    inners: Mapping[str, Inner] = attrs.field(factory=dict)
    free: Mapping[str, Any] = attrs.field(factory=dict)
    anything: Any = None
    own: int = attrs.field(init=False, default=5)
    made: int = attrs.field(default=attrs.Factory(lambda self: 1, takes_self=True))


GOOD: list[dict[str, Any]] = [
    {"flag": True},
    {"flag": False, "count": 9, "share": 0.1, "limit": 0, "either": "x", "word": "w", "mode": "b", "colour": "blue"},
    {"flag": True, "file": "a/b", "secret": "s", "secrets": {"k": {"env": "HOME_OF"}, "l": "x"}, "names": ["a", "b"]},
    {"flag": True, "inner": {"depth": 1}, "inners": {"x": {"depth": 2, "names": ["n"]}}, "free": {"a": [1]}},
    {"flag": True, "secret": {"env": "HOME_OF"}, "anything": [1], "either": 3},
]
BAD: list[dict[str, Any]] = [
    {},
    {"flag": 1},
    {"flag": True, "count": 0},
    {"flag": True, "count": 10},
    {"flag": True, "count": "1"},
    {"flag": True, "count": True},
    {"flag": True, "share": 1},
    {"flag": True, "share": 0},
    {"flag": True, "limit": -1},
    {"flag": True, "either": 1.5},
    {"flag": True, "mode": "c"},
    {"flag": True, "colour": "green"},
    {"flag": True, "file": 3},
    {"flag": True, "secret": 5},
    {"flag": True, "secret": {"env": "HOME_OF", "x": 1}},
    {"flag": True, "secret": {}},
    {"flag": True, "secrets": ["a"]},
    {"flag": True, "names": "abc"},
    {"flag": True, "names": [1]},
    {"flag": True, "inner": {}},
    {"flag": True, "inner": {"depth": 1, "width": 2}},
    {"flag": True, "inners": {"x": 1}},
    {"flag": True, "free": 1},
    {"flag": True, "own": 6},
    {"flag": True, "unknown": 6},
]


@pytest.mark.parametrize(
    ("table", "sound"), [*((table, True) for table in GOOD), *((table, False) for table in BAD)], ids=repr
)
def test_the_schema_and_the_start_are_of_one_mind(table: dict[str, Any], sound: bool) -> None:
    schema = options_schema(Everything)
    Draft202012Validator.check_schema(schema)
    valid = not list(Draft202012Validator(schema).iter_errors(table))
    assert valid == sound
    try:
        make_plugin(make_converter({"HOME_OF": "v"}), "x", Everything, table)
    except TableError:
        assert not valid
    else:
        assert valid


def test_a_key_tells_default_and_help() -> None:
    keys = class_schema(Everything)["properties"]
    assert keys["count"] == {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many.", "default": 1}
    assert keys["colour"] == {"enum": ["red", "blue"], "default": "red"}
    assert (keys["file"]["default"], keys["names"]["default"]) == ("x", ["n"])
    assert "default" not in keys["flag"]
    assert "default" not in keys["made"]


def test_a_secret_is_marked_and_its_default_is_never_told() -> None:
    @attrs.frozen
    class Holds:
        secret: Secret = attrs.field(default=Secret("hunter2"))

    (key,) = class_schema(Holds)["properties"].values()
    assert key == secret_schema()
    assert (key["writeOnly"], key["x-secret"]) == (True, True)


def test_a_whole_table_and_a_class_without_options() -> None:
    @attrs.frozen
    class Free:
        table: Mapping[str, int] = whole_table()

    assert options_schema(Free) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert options_schema(object) == {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    ("cls", "schema"),
    [
        (int | float, {"type": ["integer", "number"]}),
        (list, {"type": "array"}),
        (dict[str, Any], {"type": "object"}),
        (str | Inner, {"anyOf": [{"type": "string"}, class_schema(Inner)]}),
        ("not found", {}),
    ],
)
def test_types(cls: Any, schema: dict[str, Any]) -> None:
    assert type_schema(cls) == schema


def test_a_type_that_cannot_be_found_may_be_anything() -> None:
    cls = attrs.make_class("Odd", {"x": attrs.field(type="Nowhere", default=None)})  # type: ignore[call-overload]
    assert resolved(cls) is cls
    assert class_schema(cls)["properties"] == {"x": {}}
