from __future__ import annotations

from typing import Any

import attrs
import orjson
import pytest
from cattrs.errors import ClassValidationError

from plugins.anthropic.faults import FaultError
from plugins.anthropic.structure import class_hook, json_object, list_of, new_converter, tagged


@attrs.frozen
class Thing:
    name: str
    size: int = 3
    extra: dict[str, Any] = attrs.field(factory=dict)
    words: tuple[str, ...] = ()


def structure(value: Any) -> Any:
    return class_hook(new_converter(), Thing)(value, None)


def test_a_class_takes_its_fields_and_passes_over_others() -> None:
    value = {"name": "n", "size": 1, "extra": {"a": [None]}, "words": ["x"], "other": 9}
    assert structure(value) == Thing("n", 1, {"a": [None]}, ("x",))


def test_null_means_absent_where_a_field_may_be_absent() -> None:
    assert structure({"name": "n", "size": None, "extra": None, "words": None}) == Thing("n")


def test_null_is_no_value_for_a_field_that_must_be_there() -> None:
    with pytest.raises(ClassValidationError):
        structure({"name": None})


@pytest.mark.parametrize("value", [None, "name", ["name"], 1])
def test_only_an_object_makes_a_class(value: Any) -> None:
    with pytest.raises(FaultError, match="Input should be an object"):
        structure(value)


def test_a_hook_of_ones_own_takes_the_place_of_the_types() -> None:
    hook = class_hook(new_converter(), Thing, name=lambda value, _: value * 2)
    assert hook({"name": "n"}, None) == Thing("nn")


@pytest.mark.parametrize("value", ["ab", {"a": 1}, None])
def test_strings_and_objects_are_no_lists(value: Any) -> None:
    with pytest.raises(FaultError, match="Input should be a valid list"):
        list_of(lambda item, _: item)(value, None)


def test_a_tag_chooses_and_other_takes_the_rest() -> None:
    hook = tagged({"a": lambda value, _: ("a", value["x"])}, lambda value, _: value["type"])
    assert hook({"type": "a", "x": 1}, None) == ("a", 1)
    assert hook({"type": "b"}, None) == "b"


@pytest.mark.parametrize("tag", [[], {}, 1, True])
def test_a_tag_is_a_string(tag: Any) -> None:
    with pytest.raises(FaultError, match="valid string"):
        tagged({}, lambda value, _: value)({"type": tag}, None)


def test_a_long_unknown_tag_is_told_in_part() -> None:
    with pytest.raises(FaultError) as caught:
        tagged({"a": lambda value, _: value})({"type": "x" * 9000}, None)
    assert len(str(caught.value)) < 300


def test_what_could_not_be_written_again_is_refused() -> None:
    shallow, deep = (orjson.loads(b'{"a":' * depth + b"1" + b"}" * depth) for depth in (200, 300))
    assert json_object(shallow) is shallow
    with pytest.raises(FaultError, match="nested too deeply"):
        json_object(deep)
