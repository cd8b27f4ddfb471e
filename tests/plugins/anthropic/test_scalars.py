from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from cattrs import Converter

from plugins.anthropic.faults import FaultError
from plugins.anthropic.scalars import Range, add_scalar_hooks


def structure(value: Any, kind: Any) -> Any:
    converter = Converter()
    add_scalar_hooks(converter)
    return converter.get_structure_hook(kind)(value, kind)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", str),
        (True, bool),
        (0, int),
        (2**53 - 1, int),
        (1.5, float),
        (1, float),
        ("b", Literal["a", "b"]),
        (0, Annotated[int, Range(0)]),
        (1, Annotated[float, Range(0, 1)]),
    ],
)
def test_the_right_type_is_taken_as_it_is(value: Any, kind: Any) -> None:
    assert structure(value, kind) == value


def test_a_whole_float_is_an_integer() -> None:
    number = structure(3.0, int)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize(
    ("value", "kind", "sentence"),
    [
        (1, str, "Input should be a valid string"),
        (None, str, "Input should be a valid string"),
        (1, bool, "Input should be a valid boolean"),
        ("true", bool, "Input should be a valid boolean"),
        (True, int, "Input should be a valid integer"),
        ("1", int, "Input should be a valid integer"),
        (1.5, int, "Input should be a valid integer"),
        (1e30, int, "Input should be a valid integer not beyond 9007199254740991"),
        (2**64 - 1, int, "Input should be a valid integer not beyond 9007199254740991"),
        (False, float, "Input should be a valid number"),
        ("c", Literal["a", "b", "d"], "Input should be 'a', 'b' or 'd'"),
        ([], Literal["a"], "Input should be 'a'"),
        (-1, Annotated[int, Range(0)], "Input should be greater than or equal to 0"),
        (True, Annotated[int, Range(0)], "Input should be a valid integer"),
        (1.01, Annotated[float, Range(0, 1)], "Input should be less than or equal to 1"),
    ],
)
def test_anything_else_is_refused_in_words(value: Any, kind: Any, sentence: str) -> None:
    with pytest.raises(FaultError) as caught:
        structure(value, kind)
    assert caught.value.sentence == sentence
