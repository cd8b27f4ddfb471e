"""TOML tables into attrs values, by cattrs: strict types, no unknown keys, and a TableError for the first fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeVar

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, ForbiddenExtraKeysError, IterableValidationNote

from core.config.faults import TableError, did_you_mean, dotted
from core.errors import ConfigError

T = TypeVar("T")

_BOUND: Final = re.compile(r"'(?P<name>\w+)' must be (?P<sign>[<>]=?) (?P<bound>\S+): (?P<value>.*)", re.DOTALL)
"""What attrs says of a number that its validators `gt`, `ge`, `lt` and `le` refuse."""
_RANGES: Final = {">": "above {}", ">=": "from {} up", "<": "below {}", "<=": "up to {}"}


def structure(converter: cattrs.Converter, table: object, cls: type[T]) -> T:
    """The table as a value of `cls`, an attrs class or another type. Raises TableError with the key of the first fault.

    A ConfigError that the class itself raises leaves as it is.
    """
    try:
        return converter.structure(table, cls)
    except Exception as error:
        raise _first_fault(error) from error


def keys_of(cls: type) -> list[str]:
    """The keys that a table of the attrs class may have: its fields, as far as they can be given."""
    return [field.name for field in attrs.fields(cls) if field.init]


def _first_fault(error: Exception) -> TableError | ConfigError:
    """The fault to tell: an unknown key before all else, for it is often the misspelt one that another fault misses."""
    leaves = list(_leaves(error, ()))
    path, leaf = next((pair for pair in leaves if isinstance(pair[1], ForbiddenExtraKeysError)), leaves[0])
    if isinstance(leaf, ForbiddenExtraKeysError):
        name = min(leaf.extra_fields)
        return TableError("unknown key", key=dotted(*path, name), hint=did_you_mean(name, keys_of(leaf.cl)))
    key = dotted(*path)
    if isinstance(leaf, ConfigError):
        return leaf
    if isinstance(leaf, TableError):
        return TableError(leaf.message, key=".".join(filter(None, [key, leaf.key])), hint=leaf.hint)
    if isinstance(leaf, KeyError):
        return TableError("missing", key=key)
    text = str(leaf.args[0]) if leaf.args else type(leaf).__name__
    if bound := _BOUND.fullmatch(text):
        wanted = _RANGES[bound["sign"]].format(bound["bound"])
        key = dotted(*path, bound["name"])
        return TableError(f"expected a number {wanted}, got {bound['value']}", key=key)
    return TableError(text, key=key)


def _leaves(error: Exception, path: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], Exception]]:
    """All single errors with their paths, which cattrs leaves as notes on each error, innermost first."""
    step: tuple[object, ...] = ()
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            step = (note.name,)
        elif isinstance(note, IterableValidationNote):
            step = (note.index,)
    if isinstance(error, cattrs.BaseValidationError):
        for part in error.exceptions:
            yield from _leaves(part, path + step)
    else:
        yield path + step, error
