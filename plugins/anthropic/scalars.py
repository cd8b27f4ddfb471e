"""Strings, booleans, numbers and choices out of JSON, strictly: nothing is coerced, the sentences are the API's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import attrs
from cattrs import Converter

from plugins.anthropic.faults import FaultError

Hook = Callable[[Any, Any], Any]
"""Takes a JSON value and a type, which only cattrs itself needs; returns the structured value or raises FaultError."""

MAX_INT: Final = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact."""


@attrs.frozen
class Range:
    """Bounds of a number, both inclusive; put on a type by `Annotated`."""

    low: float | None = None
    high: float | None = None

    def check(self, value: float) -> None:
        """Raises FaultError when the value is outside."""
        if self.low is not None and value < self.low:
            raise FaultError(f"Input should be greater than or equal to {self.low}")
        if self.high is not None and value > self.high:
            raise FaultError(f"Input should be less than or equal to {self.high}")


def add_scalar_hooks(converter: Converter) -> None:
    """Teach a converter str, bool, int, float, Literal of strings, and numbers with a Range."""
    converter.register_structure_hook(str, _string)
    converter.register_structure_hook(bool, _boolean)
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_factory(_is_choice, _choice)
    converter.register_structure_hook_factory(_is_ranged, _ranged)


def _string(value: Any, _: Any) -> str:
    if value.__class__ is not str:
        raise FaultError("Input should be a valid string")
    return value


def _boolean(value: Any, _: Any) -> bool:
    if value.__class__ is not bool:
        raise FaultError("Input should be a valid boolean")
    return value


def _integer(value: Any, _: Any) -> int:
    """A whole number, also one written as 3.0: some clients' JSON knows no other numbers."""
    if value.__class__ is not int and not (value.__class__ is float and value.is_integer()):
        raise FaultError("Input should be a valid integer")
    if abs(value) > MAX_INT:
        raise FaultError(f"Input should be a valid integer not beyond {MAX_INT}")
    return int(value)


def _number(value: Any, _: Any) -> float:
    if value.__class__ is not float and value.__class__ is not int:
        raise FaultError("Input should be a valid number")
    return value


def _is_choice(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _choice(kind: Any) -> Hook:
    allowed = get_args(kind)
    sentence = f"Input should be {_listed(allowed)}"

    def structure(value: Any, _: Any) -> Any:
        if value.__class__ is not str or value not in allowed:
            raise FaultError(sentence)
        return value

    return structure


def _is_ranged(kind: Any) -> bool:
    return get_origin(kind) is Annotated and isinstance(kind.__metadata__[0], Range)


def _ranged(kind: Any) -> Hook:
    bounds: Range = kind.__metadata__[0]
    plain = _integer if kind.__origin__ is int else _number

    def structure(value: Any, _: Any) -> float:
        number = plain(value, None)
        bounds.check(number)
        return number

    return structure


def _listed(names: tuple[str, ...]) -> str:
    """'a', 'b' or 'c'."""
    *some, last = [repr(name) for name in names]
    return f"{', '.join(some)} or {last}" if some else last
