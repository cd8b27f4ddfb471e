"""Reads pipelines.toml: file -> TOML -> values of core.config; plugins' own tables stay raw until they are loaded."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import attrs
import cattrs

from core.chat.dialect import Dialect
from core.config.faults import TableError, did_you_mean, dotted, placed
from core.config.rules import check_backend, check_dialect, check_pipeline, check_pipelines, check_server
from core.config.tables import keys_of, structure
from core.config.types import kind_of, make_converter
from core.config.values import BackendConfig, Config, PipelineConfig, ServerConfig
from core.errors import ConfigError

Table = dict[str, Any]

_OURS = ("pipelines", "backends", "server")
"""The top-level tables that are no plugin's."""
_INSTALLED = "hookline.plugins"
"""The group of entry points that plugins are installed under; `core.loader`, which looks into them, imports this."""


def read_config(path: Path, environ: Mapping[str, str], content: bytes | None = None) -> Config:
    """The file, or the `content` given in its place; secrets given as `{ env = "NAME" }` are looked up in `environ`.

    Raises ConfigError, one line with file, table, key and remedy, for the first thing that is wrong.
    """
    file = str(path)
    tables = _parse(content_of(path) if content is None else content, file)
    converter = make_converter(environ)
    pipelines = [_pipeline(converter, file, name, table) for name, table in _named(tables, "pipelines", file)]
    backends = [read_backend(converter, path, name, table) for name, table in _named(tables, "backends", file)]
    with placed(file):
        check_pipelines(pipelines, backends)
        options = _front_options(tables, pipelines, backends)
    server = _server(converter, file, tables.get("server", {}))
    return Config(file, tuple(pipelines), {backend.name: backend for backend in backends}, options, server)


def content_of(path: Path) -> bytes:
    """What is in the file. Raises ConfigError when it cannot be read."""
    file = str(path)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        hint = "name the file: `hookline check FILE`, `hookline serve FILE`, or the environment variable PIPELINES_TOML"
        raise ConfigError("no such file", file=file, hint=hint) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from error


def _parse(content: bytes, file: str) -> Table:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"line {line} is not UTF-8", file=file, hint="save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"TOML syntax: {error}", file=file) from error


def _named(tables: Table, group: str, file: str) -> list[tuple[str, Table]]:
    """The tables below [pipelines] or [backends], by name; at least one."""
    with placed(file, group):
        found = tables.get(group, {})
        if not isinstance(found, dict):
            raise TableError(f"expected a table, got {kind_of(found)}")
        for name, table in found.items():
            if not isinstance(table, dict):
                raise TableError(f"expected a table [{group}.NAME], got {kind_of(table)}", key=dotted(name))
    if not found:
        near = did_you_mean(group, [name for name in tables if name not in _OURS], "tables here")
        raise ConfigError(f"no table [{group}.NAME]", file=file, hint=near or "add one")
    return list(found.items())


def _server(converter: cattrs.Converter, file: str, table: Any) -> ServerConfig:
    with placed(file, "server"):
        return check_server(structure(converter, table, ServerConfig))


def _pipeline(converter: cattrs.Converter, file: str, name: str, table: Table) -> PipelineConfig:
    with placed(file, dotted("pipelines", name)):
        keys, options = _split(table, set(keys_of(PipelineConfig)) - {"name", "options"})
        _no_unknown(keys, ["paths", "plugins"])
        pipeline = structure(converter, {**keys, "name": name}, PipelineConfig)
        return check_pipeline(attrs.evolve(pipeline, options=options))


def read_backend(converter: cattrs.Converter, path: Path, name: str, table: Table) -> BackendConfig:
    """One `[backends.NAME]` table of the file at `path`. Raises ConfigError."""
    with placed(str(path), dotted("backends", name)):
        own = set(keys_of(BackendConfig)) - {"name", "dialect", "options"}
        dialect_keys = set(keys_of(Dialect))
        keys, options = _split(table, own | dialect_keys)
        _no_unknown(keys, own | dialect_keys)
        _no_empty(keys)
        dialect = {key: keys.pop(key) for key in dialect_keys & keys.keys()}
        values = structure(converter, dialect, Dialect)
        backend = structure(converter, {**keys, "name": name}, BackendConfig)
        backend = attrs.evolve(backend, dialect={key: getattr(values, key) for key in dialect}, options=options)
        check_dialect(backend.dialect)
        return check_backend(backend, path.parent)


def _split(table: Table, keys: set[str]) -> tuple[Table, dict[str, Table]]:
    """The table's own keys, and its other sub-tables, which are options of plugins."""
    options = {key: value for key, value in table.items() if key not in keys and isinstance(value, dict)}
    return {key: value for key, value in table.items() if key not in options}, options


def _no_unknown(keys: Table, valid: Sequence[str] | set[str]) -> None:
    for key in keys:
        if key not in valid:
            raise TableError("unknown key", key=dotted(key), hint=did_you_mean(key, valid))


def _no_empty(keys: Table) -> None:
    """Refuse an address or a file that is there and says nothing: the values take it for one that is not."""
    for key in ("url", "ca"):
        if keys.get(key) == "":
            raise TableError("is empty", key=key, hint="fill it, or take it away")


def _front_options(
    tables: Table, pipelines: Sequence[PipelineConfig], backends: Sequence[BackendConfig]
) -> dict[str, Table]:
    """The top-level tables, each named after a plugin that some pipeline lists."""
    listed = {name for pipeline in pipelines for name in pipeline.plugins} | {"models"}
    options = {}
    for name, table in tables.items():
        if name in _OURS:
            continue
        if name not in listed:
            raise _unknown_table(name, listed, pipelines, backends)
        if not isinstance(table, dict):
            raise TableError(f"expected a table, got {kind_of(table)}", key=dotted(name))
        options[name] = table
    return options


def _unknown_table(
    name: str, listed: set[str], pipelines: Sequence[PipelineConfig], backends: Sequence[BackendConfig]
) -> TableError:
    owner = next((b.name for b in backends if name in {*b.plugins, *(b.wraps or ())}), None)
    if owner is not None:
        hint = f"options of a backend's plugin belong in [{dotted('backends', owner, name)}]"
    elif any(entry.name == name for entry in entry_points(group=_INSTALLED)):
        place = dotted("pipelines", pipelines[0].name)
        hint = f"list it in `plugins` of [{place}], or take the table away"
        return TableError(f"plugin {name!r} is installed but listed in no pipeline", table=dotted(name), hint=hint)
    else:
        hint = did_you_mean(name, listed | set(_OURS))
    return TableError(f"unknown table [{dotted(name)}]", hint=hint)
