from __future__ import annotations

from typing import Any

import attrs
import pytest
from cattrs.errors import BaseValidationError, ClassValidationError

from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.structure import class_hook, list_of, new_converter, tagged


@attrs.frozen
class Inner:
    number: int


@attrs.frozen
class Outer:
    inner: Inner
    name: str = ""


def fault(value: Any) -> str:
    converter = new_converter()
    hook = list_of(tagged({"outer": class_hook(converter, Outer)}))
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        hook(value, None)
    return explain(caught.value)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("x", "Input should be a valid list"),
        ([1], "0: Input should be an object"),
        ([{}], "0.type: Field required"),
        ([{"type": 1}], "0.type: Input should be a valid string"),
        ([{"type": "x"}], "0: Input tag 'x' found using 'type' does not match any of the expected: 'outer'"),
        ([{"type": "outer"}], "0.outer.inner: Field required"),
        ([{"type": "outer", "inner": {}}], "0.outer.inner.number: Field required"),
        ([{"type": "outer", "inner": {"number": 1}}, {"type": "outer"}], "1.outer.inner: Field required"),
        ([{"type": "outer", "inner": {"number": "1"}, "name": 2}], "0.outer.inner.number: Input should be a valid"),
        ([{"type": "outer", "inner": {"number": 1}, "name": 2}], "0.outer.name: Input should be a valid string"),
    ],
)
def test_the_path_and_the_sentence(value: Any, sentence: str) -> None:
    assert fault(value).startswith(sentence)


def test_a_place_given_with_the_fault_ends_the_path() -> None:
    assert explain(FaultError("Field required", "source", "data")) == "source.data: Field required"


def test_an_exception_without_a_place_is_told_without() -> None:
    assert explain(ClassValidationError("in a class", [FaultError("No")], Inner)) == "No"


def test_other_exceptions_are_not_the_clients_fault() -> None:
    with pytest.raises(ZeroDivisionError):
        explain(ZeroDivisionError())
