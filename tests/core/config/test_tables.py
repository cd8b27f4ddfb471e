from __future__ import annotations

import re
from typing import Any

import attrs
import pytest

from core.config import Secret
from core.config.faults import TableError
from core.config.tables import keys_of, structure
from core.config.types import make_converter
from core.errors import ConfigError

CONVERTER = make_converter({})


@attrs.frozen
class Entry:
    backend: str = attrs.field(validator=attrs.validators.min_len(1))
    weight: int = attrs.field(default=1, validator=attrs.validators.gt(0))
    share: float = attrs.field(default=1.0, validator=attrs.validators.le(1))


@attrs.frozen
class Table:
    entries: dict[str, Entry] = attrs.field(factory=dict)
    names: tuple[str, ...] = ()
    made: int = attrs.field(default=0, init=False)


@attrs.frozen
class Odd:
    pattern: re.Match[str] | Table


@attrs.frozen
class Strict:
    level: int

    def __attrs_post_init__(self) -> None:
        raise ConfigError("no", table="own")


def fault(table: object, cls: type = Table) -> TableError:
    with pytest.raises(TableError) as caught:
        structure(CONVERTER, table, cls)
    return caught.value


def test_makes_the_value() -> None:
    table = {"entries": {"a": {"backend": "b"}}, "names": ["x"]}
    assert structure(CONVERTER, table, Table) == Table({"a": Entry("b")}, ("x",))


@pytest.mark.parametrize(
    ("table", "key", "message"),
    [
        ({"nam": 1}, "nam", "unknown key"),
        ({"made": 1}, "made", "unknown key"),
        ({"names": ["a", 3]}, "names.1", "expected a string, got an integer"),
        ({"entries": {"q.5": {"backend": 3}}}, 'entries."q.5".backend', "expected a string, got an integer"),
        ({"entries": {"q": {}}}, "entries.q.backend", "missing"),
        ({"entries": {"q": {"backend": "b", "weight": 0}}}, "entries.q.weight", "expected a number above 0, got 0"),
        (
            {"entries": {"q.5": {"backend": "b", "share": 2}}},
            'entries."q.5".share',
            "expected a number up to 1, got 2.0",
        ),
        ({"entries": {"q": {"backend": ""}}}, "entries.q", "Length of 'backend' must be >= 1: 0"),
        ("text", "", "expected a table, got a string"),
    ],
)
def test_names_the_key_of_the_fault(table: object, key: str, message: str) -> None:
    error = fault(table)
    assert (error.key, error.message) == (key, message)


def test_the_key_of_a_fault_within_the_value_comes_last() -> None:
    error = fault({"a b": {"evn": "X"}}, dict[str, Secret])
    assert (error.key, error.message, error.hint) == ('"a b".evn', "unknown key", "did you mean 'env'?")


def test_an_unknown_key_is_told_before_the_one_it_should_have_been() -> None:
    error = fault({"backnd": "x"}, Entry)
    assert (error.key, error.message, error.hint) == ("backnd", "unknown key", "did you mean 'backend'?")


def test_a_type_that_no_table_can_hold_is_a_fault_too() -> None:
    assert "nsupported" in fault({"pattern": 1}, Odd).message


def test_a_config_error_of_the_class_leaves_as_it_is() -> None:
    with pytest.raises(ConfigError, match=r"^\[own\]: no$"):
        structure(CONVERTER, {"level": 1}, Strict)


def test_keys_are_the_fields_that_can_be_given() -> None:
    cls: Any = Table
    assert keys_of(cls) == ["entries", "names"]
