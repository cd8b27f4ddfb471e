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
    """One `[pipelines.NAME]` table."""

    name: str
    paths: tuple[str, ...]
    """Where the pipeline is mounted; a path may be mounted once only."""
    plugins: tuple[str, ...]
    """Its front plugins, in order: one reads requests, one routes them, one writes answers."""
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """The sub-tables, by plugin."""


@attrs.frozen
class BackendConfig:
    """One `[backends.NAME]` table."""

    name: str
    plugins: tuple[str, ...]
    """The engine's plugin, then wrappers: what is listed later wraps what is listed before."""
    wraps: tuple[str, ...] | None = None
    """The wrappers right behind the engine's plugin; [] takes the default ones away."""
    url: str = ""
    """The server: with or without /v1, with a path, or the whole address of its /chat/completions."""
    key: Secret | None = None
    """The server's API key."""
    headers: Mapping[str, Secret] = attrs.field(factory=dict)
    """More headers; they win over ours."""
    query: Mapping[str, str] = attrs.field(factory=dict)
    """Added to the address."""
    extra_body: Mapping[str, Any] = attrs.field(factory=dict)
    """Merged into every request body, last, objects key by key."""
    proxy: Secret | None = None
    """An HTTP proxy; those of the environment are not used."""
    ca: str = ""
    """A file of certificates to trust, relative to this file."""
    connect_timeout: float = 10.0
    """Seconds to connect."""
    first_timeout: float = 600.0
    """Seconds from the sending of the request to the first piece of the answer: a slow machine reads a long prompt."""
    read_timeout: float = 600.0
    """Seconds of silence between two pieces of the answer."""
    total_timeout: float = 3600.0
    """Seconds for the whole answer."""
    max_concurrent: int = 0
    """Requests that a worker sends it at once; more wait. 0: as many as come."""
    max_queue: int = 100
    """Requests that wait for it in a worker, where `max_concurrent` is set; more are told to come again."""
    queue_timeout: float = 60.0
    """Seconds that a request waits for its turn."""
    stream: Literal["auto", "always", "never"] = "auto"
    """Whether the upstream is asked to stream: auto as the client asks, always, never."""
    dialect: Mapping[str, Any] = attrs.field(factory=dict)
    """The single fields of `core.chat.Dialect` that the table overrides."""
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """The sub-tables, by plugin."""


@attrs.frozen
class ServerConfig:
    """The `[server]` table: the limits of the door and of a process's life, for all pipelines."""

    max_body: int = 32 * 1024 * 1024
    """Bytes of a request's body; the default is the limit of the Messages API itself."""
    body_timeout: float = 60.0
    """Seconds in which a request's body must have come."""
    max_concurrent: int = 1000
    """Requests that a worker serves at once; more are told to come again."""
    client_timeout: float = 60.0
    """Seconds that a client may take nothing of an answer that waits for it."""
    ping_interval: float = 10.0
    """Seconds of silence after which a stream shows life."""
    drain_grace: float = 0.0
    """Seconds in which all is still served, but `/readyz` says no, before the server drains."""
    drain_timeout: float = 30.0
    """Seconds that running requests have left when the server is told to end."""


@attrs.frozen
class Config:
    """A whole pipelines.toml; `options` are the top-level tables named after front plugins."""

    file: str
    pipelines: tuple[PipelineConfig, ...]
    backends: Mapping[str, BackendConfig]
    options: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    server: ServerConfig = attrs.field(factory=ServerConfig)

    def backend(self, name: str, *, table: str, key: str) -> BackendConfig:
        """The backend of that name.

        Raises ConfigError, with the nearest name, placed at `table` (as TOML writes it) and `key` (one key, as it is).
        """
        if name in self.backends:
            return self.backends[name]
        hint = did_you_mean(name, self.backends, "backends")
        raise ConfigError(f"no backend {name!r}", file=self.file, table=table, key=dotted(key), hint=hint)
