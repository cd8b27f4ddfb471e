"""`hookline schema`: JSON Schema of pipelines.toml, with the options of all plugins that are installed."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from core.chat.dialect import Dialect
from core.cli.installed import InstalledPlugin
from core.config import BackendConfig, PipelineConfig, ServerConfig
from core.config.schema import Schema, class_schema, options_schema

_MODULE: Final = ":"
"""What the name of a plugin that is not packaged has in it."""
_FREE: Final[Schema] = {"type": "object"}
_SECONDS: Final[Schema] = {"exclusiveMinimum": 0}
_BACKEND: Final[Mapping[str, Schema]] = {
    "url": {"pattern": "^[hH][tT][tT][pP][sS]?://[^/]"},
    "connect_timeout": _SECONDS,
    "first_timeout": _SECONDS,
    "read_timeout": _SECONDS,
    "total_timeout": _SECONDS,
    "max_concurrent": {"minimum": 0},
    "max_queue": {"minimum": 0},
    "queue_timeout": _SECONDS,
}
"""What the start wants of these keys beyond their types."""
_SERVER: Final[Mapping[str, Schema]] = {
    "max_body": {"minimum": 1},
    "body_timeout": _SECONDS,
    "max_concurrent": {"minimum": 1},
    "client_timeout": _SECONDS,
    "ping_interval": _SECONDS,
    "drain_grace": {"minimum": 0},
    "drain_timeout": {"minimum": 0},
}
"""The same for [server]."""
_PATHS: Final[Schema] = {"type": "array", "items": {"type": "string", "pattern": "^/"}, "minItems": 1}


def schema_of(plugins: Sequence[InstalledPlugin]) -> Schema:
    """The schema of a pipelines.toml for an environment with these plugins.

    It knows tables, keys, types, bounds and plugins' names; what only company shows (two plugins that answer the same
    hook, a route to no backend) is left to `hookline check`.
    """
    tables = {plugin.name: _table(plugin) for plugin in plugins}
    fronts = {plugin.name: tables[plugin.name] for plugin in plugins if not plugin.answers("call_upstream")}
    names = _names(sorted(tables))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pipelines.toml of hookline",
        "type": "object",
        "required": ["pipelines", "backends"],
        "properties": {
            **fronts,
            "pipelines": _named({"$ref": "#/$defs/pipeline"}, "What clients see."),
            "backends": _named({"$ref": "#/$defs/backend"}, "The upstream servers."),
            "server": {"$ref": "#/$defs/server"},
        },
        "patternProperties": {_MODULE: _FREE},
        "additionalProperties": False,
        "$defs": {
            "pipeline": _pipeline(fronts, names),
            "backend": _backend(_eased(tables, plugins), names),
            "server": _server(),
        },
    }


def _pipeline(tables: Mapping[str, Schema], names: Schema) -> Schema:
    keys = _keys(PipelineConfig, ("name", "options"))
    keys["paths"] = {**keys["paths"], **_PATHS}
    keys["plugins"] = {**keys["plugins"], **names, "minItems": 1}
    return _closed(["paths", "plugins"], {**tables, **keys})


def _backend(tables: Mapping[str, Schema], names: Schema) -> Schema:
    keys = _keys(BackendConfig, ("name", "dialect", "options"))
    for key, more in _BACKEND.items():
        keys[key] = {**keys[key], **more}
    keys["plugins"] = {**keys["plugins"], **names, "minItems": 1}
    keys["wraps"] = {**keys["wraps"], **names}
    # The default that counts is the one of the engine's own dialect, which differs from the class's.
    dialect = {name: _without_default(field) for name, field in _keys(Dialect, ()).items()}
    return _closed(["plugins"], {**tables, **dialect, **keys})


def _server() -> Schema:
    keys = {name: {**field, **_SERVER[name]} for name, field in _keys(ServerConfig, ()).items()}
    return {"type": "object", "properties": keys, "additionalProperties": False}


def _closed(required: list[str], properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "required": required,
        "properties": dict(properties),
        "patternProperties": {_MODULE: _FREE},
        "additionalProperties": False,
    }


def _keys(cls: type, without: Sequence[str]) -> dict[str, Schema]:
    properties: dict[str, Schema] = class_schema(cls)["properties"]
    return {name: field for name, field in properties.items() if name not in without}


def _without_default(field: Schema) -> Schema:
    return {key: value for key, value in field.items() if key != "default"}


def _eased(tables: Mapping[str, Schema], plugins: Sequence[InstalledPlugin]) -> dict[str, Schema]:
    """The tables of a backend's plugins, where an option that a plugin gives its wrapper need not be given."""
    given = {(wrapper, key) for plugin in plugins for wrapper, own in plugin.brings.items() for key in own}
    return {
        name: _without_required(table, {key for owner, key in given if owner == name}) for name, table in tables.items()
    }


def _without_required(table: Schema, given: Container[str]) -> Schema:
    needed = [key for key in table.get("required", ()) if key not in given]
    return {
        **{key: value for key, value in table.items() if key != "required"},
        **({"required": needed} if needed else {}),
    }


def _named(of: Schema, description: str) -> Schema:
    return {"type": "object", "description": description, "minProperties": 1, "additionalProperties": of}


def _names(names: list[str]) -> dict[str, Any]:
    """A list of plugins: installed ones, or `module:Class`."""
    return {
        "type": "array",
        "items": {"anyOf": [{"enum": names}, {"type": "string", "pattern": r"^[\w.]+:[\w.]+$"}]},
        "uniqueItems": True,
    }


def _table(plugin: InstalledPlugin) -> Schema:
    """The plugin's options; any table for one that cannot be imported."""
    if plugin.cls is None:
        return _FREE
    schema = options_schema(plugin.cls)
    return {**schema, "description": plugin.summary} if plugin.summary else schema
