from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest

from core.config import Secret
from core.config.faults import TableError
from core.config.options import make_plugin
from core.config.types import make_converter
from core.errors import ConfigError
from tests.core import samples

if TYPE_CHECKING:
    from decimal import Decimal

CONVERTER = make_converter({"TOKEN": "hunter2"})


@attrs.frozen(eq=False)
class Lost:
    size: Decimal | None = None


@attrs.frozen(eq=False)
class Needy:
    level: int


def make(cls: type, table: dict[str, Any]) -> Any:
    return make_plugin(CONVERTER, "sample", cls, table)


def fault(cls: type, table: dict[str, Any]) -> TableError:
    with pytest.raises(TableError) as caught:
        make(cls, table)
    return caught.value


def test_fields_are_options() -> None:
    plugin = make(samples.Front, {"backends": ["a"], "secret": {"env": "TOKEN"}})
    assert isinstance(plugin, samples.Front)
    assert (plugin.backends, plugin.secret) == (("a",), Secret("hunter2"))
    assert make(samples.Front, {}).backends == ("one",)


def test_faults_name_the_key() -> None:
    assert fault(samples.Engine, {"wrd": "x"}).hint == "did you mean 'word'?"
    assert fault(samples.Front, {"seen": []}).message == "unknown key"
    wrong = fault(samples.Engine, {"word": 3})
    assert (wrong.key, wrong.message) == ("word", "expected a string, got an integer")
    missing = fault(Needy, {})
    assert (missing.key, missing.message) == ("level", "missing")


def test_a_class_without_attrs_takes_no_options() -> None:
    assert isinstance(make(samples.NoOptions, {}), samples.NoOptions)
    error = fault(samples.NoOptions, {"a b": 1})
    assert (error.key, error.message) == ('"a b"', "plugin 'sample' takes no options")


def test_a_whole_table_has_free_keys_and_typed_values() -> None:
    assert make(samples.Free, {"a": 1, "b c": 2}).table == {"a": 1, "b c": 2}
    assert make(samples.Free, {}).table == {}
    assert fault(samples.Free, {"b c": "x"}).key == '"b c"'


def test_a_type_that_is_only_there_for_the_type_checker() -> None:
    error = fault(Lost, {})
    assert "'sample' has a field whose type is not defined when it runs: name 'Decimal' is not defined" in error.message
    assert "TYPE_CHECKING" in error.hint


def test_a_class_that_cannot_be_made() -> None:
    assert fault(samples.Unmakeable, {}).message == "plugin 'sample' cannot be made: ValueError: no luck"
    assert fault(samples.Unmakeable, {"level": 1}).message == "no luck"
    with pytest.raises(ConfigError, match=r"^too high$"):
        make(samples.Unmakeable, {"level": 2})
