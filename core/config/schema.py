"""attrs classes -> JSON Schema (draft 2020-12) of the TOML tables that `core.config.types` makes them of."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal

import attrs
from attrs import NOTHING
from cattrs.cols import is_any_set, is_mapping, is_mutable_sequence, is_sequence

from core.config.help import help_of
from core.config.options import whole_field
from core.config.values import Secret

Schema = dict[str, Any]

_SCALARS: Final[dict[Any, str]] = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
_BOUNDS: Final = {">=": "minimum", ">": "exclusiveMinimum", "<=": "maximum", "<": "exclusiveMaximum"}


def secret_schema() -> Schema:
    """A secret: a string, or the name of the environment variable that holds it."""
    named = {"type": "object", "required": ["env"], "properties": {"env": {"type": "string", "minLength": 1}}}
    return {
        "anyOf": [{"type": "string"}, {**named, "additionalProperties": False}],
        "writeOnly": True,
        "x-secret": True,
    }


def options_schema(cls: type) -> Schema:
    """The table of a plugin's options; a class that is not of attrs takes none."""
    if not attrs.has(cls):
        return {"type": "object", "additionalProperties": False}
    whole = whole_field(resolved(cls))
    if whole is not None:
        return type_schema(whole.type or dict)
    return class_schema(cls)


def class_schema(cls: type) -> Schema:
    """The table of an attrs class: its fields as far as they can be given, and no other key."""
    fields = [field for field in attrs.fields(resolved(cls)) if field.init]
    helps = help_of(cls)
    required = [field.name for field in fields if field.default is NOTHING]
    schema: Schema = {"type": "object"}
    if required:
        schema["required"] = required
    schema["properties"] = {field.name: field_schema(field, helps.get(field.name, "")) for field in fields}
    return {**schema, "additionalProperties": False}


def field_schema(field: attrs.Attribute[Any], description: str) -> Schema:
    """One key: its type, bounds, default and what it is."""
    schema = {**type_schema(field.type), **_bounds(field.validator)}
    if description:
        schema["description"] = description
    default = plain_default(field)
    if default is not None:
        schema["default"] = default
    return schema


def plain_default(field: attrs.Attribute[Any]) -> Any:
    """The field's default as JSON has it; None when there is none that can be told, as of a secret."""
    value: Any = field.default
    if hasattr(value, "takes_self"):
        value = None if value.takes_self else value.factory()
    return None if value is NOTHING else _plain(value)


def type_schema(cls: Any) -> Schema:
    """What TOML must hold for a value of this type; {} for what may be anything."""
    for fits, make in _MAKERS:
        if fits(cls):
            return make(cls)
    return {}


def resolved(cls: type) -> type:
    """The class with its annotations as types, as far as they can be found."""
    try:
        return attrs.resolve_types(cls)
    except (NameError, TypeError):
        return cls


def _union(cls: Any) -> Schema:
    parts = [type_schema(part) for part in typing.get_args(cls) if part is not type(None)]
    if len(parts) == 1:
        return parts[0]
    if all(part.keys() == {"type"} and isinstance(part["type"], str) for part in parts):
        return {"type": [part["type"] for part in parts]}
    return {"anyOf": parts}


def _list(cls: Any) -> Schema:
    of = type_schema(typing.get_args(cls)[0]) if typing.get_args(cls) else {}
    return {"type": "array", "items": of} if of else {"type": "array"}


def _mapping(cls: Any) -> Schema:
    arguments = typing.get_args(cls)
    of = type_schema(arguments[1]) if len(arguments) == 2 else {}
    return {"type": "object", "additionalProperties": of} if of else {"type": "object"}


def _bounds(validator: Any) -> Schema:
    """The numbers that attrs's validators allow; any other validator is left to the start."""
    inner = getattr(validator, "validator", None)
    parts = getattr(validator, "_validators", ())
    if parts or inner is not None:
        return {key: value for part in (*parts, inner) if part is not None for key, value in _bounds(part).items()}
    key = _BOUNDS.get(str(getattr(validator, "compare_op", "")))
    return {key: validator.bound} if key else {}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else None


def _is_union(cls: Any) -> bool:
    return typing.get_origin(cls) in (typing.Union, types.UnionType)


def _is_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, Enum)


_MAKERS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], Schema]], ...]] = (
    (lambda cls: cls in _SCALARS if isinstance(cls, type) else False, lambda cls: {"type": _SCALARS[cls]}),
    (lambda cls: cls is Secret, lambda _: secret_schema()),
    (lambda cls: typing.get_origin(cls) is Literal, lambda cls: {"enum": list(typing.get_args(cls))}),
    (_is_enum, lambda cls: {"enum": [member.value for member in cls]}),
    (_is_union, _union),
    (is_mapping, _mapping),
    (lambda cls: is_sequence(cls) or is_mutable_sequence(cls) or is_any_set(cls), _list),
    (lambda cls: isinstance(cls, type) and attrs.has(cls), class_schema),
)
