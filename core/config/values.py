"""pipelines.toml as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from core.config.faults import did_you_mean, dotted
from core.errors import ConfigError


@attrs.frozen
class Secret:
    """A string that shows itself only when asked by `reveal()`."""

    _value: str = attrs.field(repr=False)

    def reveal(self) -> str:
        """The secret itself."""
        return self._value


@attrs.frozen
class PipelineConfig:
    """One `[pipelines.NAME]` table; `options` are its sub-tables, by plugin."""

    name: str
    paths: tuple[str, ...]
    plugins: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


@attrs.frozen
class BackendConfig:
    """One `[backends.NAME]` table.

    `url` as written; `ca` a file; times in seconds; `dialect` holds single fields of `core.chat.Dialect` that the table
    overrides; `wraps` names the wrappers behind the first plugin (None: those that the plugins' classes name);
    `options` are its sub-tables, by plugin.
    """

    name: str
    plugins: tuple[str, ...]
    wraps: tuple[str, ...] | None = None
    url: str = ""
    key: Secret | None = None
    headers: Mapping[str, Secret] = attrs.field(factory=dict)
    query: Mapping[str, str] = attrs.field(factory=dict)
    extra_body: Mapping[str, Any] = attrs.field(factory=dict)
    proxy: Secret | None = None
    ca: str = ""
    connect_timeout: float = 10.0
    read_timeout: float = 600.0
    total_timeout: float = 3600.0
    stream: Literal["auto", "always", "never"] = "auto"
    dialect: Mapping[str, Any] = attrs.field(factory=dict)
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)


@attrs.frozen
class Config:
    """A whole pipelines.toml; `options` are the top-level tables named after front plugins."""

    file: str
    pipelines: tuple[PipelineConfig, ...]
    backends: Mapping[str, BackendConfig]
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    def backend(self, name: str, *, table: str, key: str) -> BackendConfig:
        """The backend of that name.

        Raises ConfigError, with the nearest name, placed at `table` (as TOML writes it) and `key` (one key, as it is).
        """
        if name in self.backends:
            return self.backends[name]
        hint = did_you_mean(name, self.backends, "backends")
        raise ConfigError(f"no backend {name!r}", file=self.file, table=table, key=dotted(key), hint=hint)
