"""Strict structuring of JSON by cattrs: null for an optional field means absent, and every fault keeps its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import orjson
from cattrs import Converter, override
from cattrs.errors import BaseValidationError, IterableValidationError, IterableValidationNote
from cattrs.gen import make_dict_structure_fn

from plugins.anthropic.faults import FaultError, Tag
from plugins.anthropic.scalars import Hook, add_scalar_hooks


def new_converter() -> Converter:
    """A converter that structures JSON values and attrs classes by these rules."""
    converter = Converter(detailed_validation=True)
    add_scalar_hooks(converter)
    converter.register_structure_hook_func(lambda kind: kind == dict[str, Any], json_object)
    converter.register_structure_hook_factory(_is_tuple, lambda kind: list_of(_item_hook(converter, kind)))
    converter.register_structure_hook_factory(attrs.has, lambda kind: class_hook(converter, kind))
    return converter


def class_hook(converter: Converter, kind: type[Any], **hooks: Hook) -> Hook:
    """A hook for an attrs class; `hooks` take the place of those that the fields' types would give."""
    hints = get_type_hints(kind, include_extras=True)
    overrides = {}
    for field in attrs.fields(kind):
        hook = hooks.get(field.name) or converter.get_structure_hook(hints[field.name])
        overrides[field.name] = override(struct_hook=hook if field.default is attrs.NOTHING else _optional(hook, field))
    function = make_dict_structure_fn(kind, converter, **overrides)  # type: ignore[arg-type]

    def structure(value: Any, _: Any) -> Any:
        return function(_mapping(value), kind)

    return structure


def list_of(item: Hook) -> Hook:
    """A hook for a JSON list; gives a tuple."""

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if value.__class__ is not list:
            raise FaultError("Input should be a valid list")
        done: list[Any] = []
        try:
            for element in value:
                done.append(item(element, None))  # noqa: PERF401 (the length so far is the index of the fault)
        except (FaultError, BaseValidationError) as error:
            error.add_note(IterableValidationNote("", len(done), None))
            raise IterableValidationError("in a list", [error], list) from error
        return tuple(done)

    return structure


def tagged(variants: Mapping[str, Hook], other: Hook | None = None) -> Hook:
    """A hook for an object whose `type` chooses among variants; `other` takes a type that is none of them."""

    def structure(value: Any, _: Any) -> Any:
        tag = _mapping(value).get("type")
        if tag.__class__ is not str:
            raise FaultError("Field required" if tag is None else "Input should be a valid string", "type")
        hook = variants.get(tag, other)
        if hook is None:
            expected = ", ".join(map(repr, variants))
            raise FaultError(
                f"Input tag {tag[:80]!r} found using 'type' does not match any of the expected: {expected}"
            )
        try:
            return hook(value, None)
        except (FaultError, BaseValidationError) as error:
            error.add_note(Tag(tag[:80]))
            raise

    return structure


def json_object(value: Any, _: Any = None) -> dict[str, Any]:
    """A JSON object that is kept as it came, and can be written again."""
    mapping = _mapping(value)
    try:
        # orjson reads 1024 levels but writes 254; the eight lists are room for what the upstream's body puts around it.
        orjson.dumps([[[[[[[[mapping]]]]]]]])
    except orjson.JSONEncodeError:
        raise FaultError("Input is nested too deeply") from None
    return mapping


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FaultError("Input should be an object")
    return value


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _item_hook(converter: Converter, kind: Any) -> Hook:
    return converter.get_structure_hook(get_args(kind)[0])


def _optional(hook: Hook, field: attrs.Attribute[Any]) -> Hook:
    default: Any = field.default

    def structure(value: Any, kind: Any) -> Any:
        if value is None:
            return default.factory() if isinstance(default, attrs.Factory) else default  # type: ignore[arg-type]
        return hook(value, kind)

    return structure
