"""What TOML can hold, as cattrs hooks: each type is taken as it is written, nothing is converted in silence."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs
from cattrs.cols import (
    is_any_set,
    is_mapping,
    is_mutable_sequence,
    is_sequence,
    list_structure_factory,
    mapping_structure_factory,
)
from cattrs.gen import make_dict_structure_fn

from core.config.faults import TableError, did_you_mean, dotted
from core.config.values import Secret

_Hook = Callable[[Any, Any], Any]

_SCALARS: dict[type, str] = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


def kind_of(value: object) -> str:
    """What a TOML value is, in words and without its content, which may be secret."""
    named = {**_SCALARS, bool: "a boolean", list: "a list", dict: "a table", type(None): "nothing"}
    return named.get(type(value), "a date or time")


def make_converter(environ: Mapping[str, str]) -> cattrs.Converter:
    """A converter whose faults are TableErrors; a Secret is a string or `{ env = "NAME" }`, looked up in `environ`."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for scalar in _SCALARS:
        converter.register_structure_hook(scalar, _scalar)
    converter.register_structure_hook(Path, lambda value, _: Path(_scalar(value, str)))
    converter.register_structure_hook_factory(_is_literal, lambda _: _literal)
    converter.register_structure_hook_factory(_is_enum, lambda _: _enum)
    converter.register_structure_hook_factory(_is_scalar_union, lambda _: _scalar_union)
    converter.register_structure_hook_factory(_is_list, _list_factory)
    converter.register_structure_hook_factory(_is_one_or_several, _one_or_several_factory)
    converter.register_structure_hook_factory(is_mapping, _mapping_factory)
    converter.register_structure_hook_factory(attrs.has, _attrs_factory)
    converter.register_structure_hook(Secret, lambda value, _: _secret(value, environ))
    return converter


def _scalar(value: Any, cls: Any) -> Any:
    if type(value) is cls:
        return value
    if cls is float and type(value) is int:
        return float(value)
    raise TableError(f"expected {_SCALARS[cls]}, got {kind_of(value)}")


def _is_literal(cls: Any) -> bool:
    return typing.get_origin(cls) is Literal


def _literal(value: Any, cls: Any) -> Any:
    choices = typing.get_args(cls)
    if any(type(value) is type(choice) and value == choice for choice in choices):
        return value
    return _no_choice(value, choices)


def _is_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, Enum)


def _enum(value: Any, cls: type[Enum]) -> Enum:
    choices = [member.value for member in cls]
    return cls(value) if value in choices else _no_choice(value, choices)


def _no_choice(value: Any, choices: Any) -> typing.NoReturn:
    got = repr(value) if isinstance(value, str) else kind_of(value)
    raise TableError(f"expected one of {', '.join(map(repr, choices))}, got {got}")


def _is_scalar_union(cls: Any) -> bool:
    if typing.get_origin(cls) not in {typing.Union, types.UnionType}:
        return False
    return all(part in _SCALARS or part is type(None) for part in typing.get_args(cls))


def _scalar_union(value: Any, cls: Any) -> Any:
    parts = [part for part in typing.get_args(cls) if part in _SCALARS]
    if type(value) in parts:
        return value
    if type(value) is int and float in parts:
        return float(value)
    raise TableError(f"expected {' or '.join(_SCALARS[part] for part in parts)}, got {kind_of(value)}")


def _is_list(cls: Any) -> bool:
    return is_sequence(cls) or is_mutable_sequence(cls) or is_any_set(cls)


def _list_factory(cls: Any, converter: cattrs.Converter) -> _Hook:
    """Lists, tuples and sets from a TOML list alone: cattrs would take a string for a sequence of characters."""
    of: Any = types.GenericAlias(list, typing.get_args(cls)[:1] or Any)
    base = list_structure_factory(of, converter)
    origin = typing.get_origin(cls) or cls
    build = {list: list, set: set, frozenset: frozenset}.get(origin, tuple)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not list:
            raise TableError(f"expected a list, got {kind_of(value)}")
        return build(base(value, of))

    return hook


def _is_one_or_several(cls: Any) -> bool:
    """Whether it is like `Entry | tuple[Entry, ...]`."""
    if typing.get_origin(cls) not in {typing.Union, types.UnionType}:
        return False
    one, *several = sorted(typing.get_args(cls), key=_is_list)
    return attrs.has(one) and len(several) == 1 and _is_list(several[0]) and typing.get_args(several[0])[:1] == (one,)


def _one_or_several_factory(cls: Any, converter: cattrs.Converter) -> _Hook:
    one, several = sorted(typing.get_args(cls), key=_is_list)

    def hook(value: Any, _: Any) -> Any:
        if type(value) not in (dict, list):
            raise TableError(f"expected a table or a list of tables, got {kind_of(value)}")
        return converter.structure(value, several if type(value) is list else one)

    return hook


def _mapping_factory(cls: Any, converter: cattrs.Converter) -> _Hook:
    return _only_tables(mapping_structure_factory(cls, converter))


def _attrs_factory(cls: Any, converter: cattrs.Converter) -> _Hook:
    return _only_tables(make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True))


def _only_tables(base: Callable[..., Any]) -> _Hook:
    def hook(value: Any, cls: Any) -> Any:
        if not isinstance(value, dict):
            raise TableError(f"expected a table, got {kind_of(value)}")
        return base(value, cls)

    return hook


def _secret(value: Any, environ: Mapping[str, str]) -> Secret:
    if isinstance(value, str):
        return Secret(value)
    if not isinstance(value, dict) or not value:
        got = "an empty table" if value == {} else kind_of(value)
        raise TableError(f'expected a string or {{ env = "NAME" }}, got {got}')
    for key in value:
        if key != "env":
            raise TableError("unknown key", key=dotted(key), hint=did_you_mean(key, ["env"]))
    name = value["env"]
    if not isinstance(name, str):
        raise TableError(f"expected a string, got {kind_of(name)}", key="env")
    if not environ.get(name):
        state = "empty" if name in environ else "not set"
        raise TableError(f"the environment variable {name} is {state}", hint="set it, or take the key away")
    return Secret(environ[name])
