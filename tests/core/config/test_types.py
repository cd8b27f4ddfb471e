from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest

from core.config import Secret
from core.config.faults import TableError
from core.config.tables import structure
from core.config.types import kind_of, make_converter

CONVERTER = make_converter({"SET": "hidden", "EMPTY": ""})


class Colour(enum.Enum):
    RED = "red"


@attrs.frozen
class Inner:
    size: int


@pytest.mark.parametrize(
    ("cls", "value", "expected"),
    [
        (int, 3, 3),
        (float, 3, 3.0),
        (float, 3.5, 3.5),
        (str, "a", "a"),
        (bool, True, True),
        (Path, "/x", Path("/x")),
        (Colour, "red", Colour.RED),
        (Literal["a", "b"], "b", "b"),
        (int | None, 3, 3),
        (Inner | tuple[Inner, ...], {"size": 1}, Inner(1)),
        (Inner | tuple[Inner, ...], [{"size": 1}, {"size": 2}], (Inner(1), Inner(2))),
        (list[Inner] | Inner, [], []),
        (int | str, "x", "x"),
        (float | None, 3, 3.0),
        (tuple[str, ...], ["a"], ("a",)),
        (list[int], [1], [1]),
        (Sequence[str], ["a"], ("a",)),
        (set[int], [1, 1], {1}),
        (frozenset[int], [1], frozenset({1})),
        (Mapping[str, int], {"a": 1}, {"a": 1}),
        (dict[str, Any], {"a": [1]}, {"a": [1]}),
        (Inner, {"size": 2}, Inner(2)),
        (dict[str, Inner], {"x": {"size": 2}}, {"x": Inner(2)}),
        (Inner | None, {"size": 2}, Inner(2)),
        (Secret, "plain", Secret("plain")),
        (Secret, {"env": "SET"}, Secret("hidden")),
    ],
)
def test_takes_what_toml_holds(cls: type, value: object, expected: object) -> None:
    assert structure(CONVERTER, value, cls) == expected


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (int, "3", "expected an integer, got a string"),
        (int, True, "expected an integer, got a boolean"),
        (int, 3.0, "expected an integer, got a number"),
        (str, 3, "expected a string, got an integer"),
        (bool, 1, "expected true or false, got an integer"),
        (Path, 1, "expected a string, got an integer"),
        (Colour, "blue", "expected one of 'red', got 'blue'"),
        (Literal["a", "b"], "c", "expected one of 'a', 'b', got 'c'"),
        (Literal["a", "b"], 1, "expected one of 'a', 'b', got an integer"),
        (int | str, True, "expected an integer or a string, got a boolean"),
        (tuple[str, ...], "abc", "expected a list, got a string"),
        (Mapping[str, int], [1], "expected a table, got a list"),
        (Inner, "x", "expected a table, got a string"),
        (Inner | tuple[Inner, ...], "x", "expected a table or a list of tables, got a string"),
        (Inner | tuple[Inner, ...], [{"size": 1}, 2], "expected a table, got an integer"),
        (Inner | tuple[Inner, ...], {"size": "1"}, "expected an integer, got a string"),
        (Secret, 3, 'expected a string or { env = "NAME" }, got an integer'),
        (Secret, {}, 'expected a string or { env = "NAME" }, got an empty table'),
        (Secret, {"evn": "SET"}, "unknown key"),
        (Secret, {"env": "SET", "default": "x"}, "unknown key"),
        (Secret, {"env": 3}, "expected a string, got an integer"),
        (Secret, {"env": "EMPTY"}, "the environment variable EMPTY is empty"),
        (Secret, {"env": "UNSET"}, "the environment variable UNSET is not set"),
    ],
)
def test_refuses_everything_else(cls: type, value: object, message: str) -> None:
    with pytest.raises(TableError) as caught:
        structure(CONVERTER, value, cls)
    assert caught.value.message == message


def test_kind_of_never_shows_the_value() -> None:
    values: list[object] = ["secret", 1, 1.0, True, [], {}, None, types]
    kinds = [kind_of(value) for value in values]
    wanted = ["a string", "an integer", "a number", "a boolean", "a list", "a table", "nothing", "a date or time"]
    assert kinds == wanted
