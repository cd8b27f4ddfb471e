"""`hookline plugins`: what is installed, from where, and what each plugin does and takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from core.cli.installed import InstalledPlugin
from core.config.faults import TableError
from core.config.help import help_of
from core.config.options import whole_field
from core.config.schema import plain_default, resolved, type_schema
from core.contract import contract_of, served
from core.loader.classes import hook_names

_ORDER = ("front", "backend", "wrapper", "other", "broken")


def plugins_text(plugins: Sequence[InstalledPlugin]) -> str:
    """All plugins, grouped by kind; no value of a secret is in it."""
    ordered = sorted(plugins, key=lambda plugin: (_ORDER.index(plugin.kind), plugin.name))
    lines = [line for plugin in ordered for line in ("", *_lines(plugin))]
    return "\n".join([f"hookline serves {served()}", *lines])


def _lines(plugin: InstalledPlugin) -> Iterator[str]:
    contract = f", contract {_contract(plugin.cls)}" if plugin.cls is not None else ""
    yield f"{plugin.name}  {plugin.kind} of {plugin.distribution}{contract}"
    if plugin.summary:
        yield f"  {plugin.summary}"
    if plugin.fault:
        yield f"  cannot be used: {plugin.fault}"
    if plugin.cls is None:
        return
    order = list(hook_names())
    for word, wanted in (("answers", False), ("wraps", True)):
        hooks = [hook for hook, wraps in plugin.hooks if wraps is wanted]
        if hooks:
            yield f"  {word:<8} {', '.join(sorted(hooks, key=lambda hook: order.index(hook) if hook in order else 99))}"
    if plugin.brings:
        yield f"  brings   {', '.join(_brought(*each) for each in plugin.brings.items())}"
    yield from _options(plugin.cls)


def _brought(wrapper: str, options: Mapping[str, Any]) -> str:
    """A wrapper, with the options that it is given as JSON."""
    shown = (f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}" for key, value in options.items())
    return f"{wrapper} ({', '.join(shown)})" if options else wrapper


def _contract(cls: type) -> str:
    try:
        return str(contract_of(cls))
    except TableError:
        return "?"


def _options(cls: type) -> Iterator[str]:
    if not attrs.has(cls):
        return
    whole = whole_field(resolved(cls))
    if whole is not None:
        yield f"  options  a whole table: {words_of(type_schema(whole.type))}"
        return
    helps = help_of(cls)
    for field in attrs.fields(resolved(cls)):
        if field.init:
            text = helps.get(field.name, "")
            yield f"  option   {field.name}: {_value(field)}" + (f"  # {text}" if text else "")


def _value(field: attrs.Attribute[Any]) -> str:
    """Type and default of an option."""
    schema = type_schema(field.type)
    words = words_of(schema)
    if field.default is attrs.NOTHING:
        return f"{words}, needed"
    if schema.get("x-secret"):
        return f"{words} = ***" if field.default is not None else words
    default = plain_default(field)
    return words if default is None else f"{words} = {json.dumps(default, ensure_ascii=False)}"


def words_of(schema: dict[str, Any]) -> str:
    """A type's schema in words."""
    if schema.get("x-secret"):
        return "secret"
    if "enum" in schema:
        return " or ".join(json.dumps(choice) for choice in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(words_of(each) for each in schema["anyOf"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {words_of(schema['items'])}" if "items" in schema else "list"
    if kind == "object":
        of = schema.get("additionalProperties")
        if isinstance(of, dict):
            return f"table of {words_of(of)}"
        return f"table with {', '.join(schema['properties'])}" if schema.get("properties") else "table"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
