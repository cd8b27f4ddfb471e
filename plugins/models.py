"""`models`: chooses backend and upstream model by the name the client sent, from the table [models]."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import anyio
import attrs
import structlog

from core import Candidate, Config, ConfigError, Model, Request, Route, UpstreamError, hookimpl, whole_table
from core.chat import UpstreamClient, served_models

_positive = attrs.validators.ge(1)

_SETS: Final = re.compile(r"\[!?+\]?+[^\]]*\]")

LIST_TIME: Final = 2.0
"""Seconds that a backend has to list its models: Claude Code gives the whole answer three."""


@attrs.frozen
class Entry:
    """Where requests for one name go."""

    backend: str
    """One of [backends.*]."""
    model: str = ""
    """The model's name there; "": the one the client sent."""
    display_name: str = ""
    """What lists of models call it; "": the client's name."""
    max_output_tokens: int | None = attrs.field(default=None, validator=attrs.validators.optional(_positive))
    """The longest answer in tokens: a larger `max_tokens` is lowered to it."""
    context: int | None = attrs.field(default=None, validator=attrs.validators.optional(_positive))
    """The model's window in tokens: `max_tokens` is lowered so that the prompt has room."""
    extra_body: Mapping[str, Any] = attrs.field(factory=dict)
    """Merged into the body for this model, after the backend's."""
    list: bool = False
    """For a glob: also list the models that the backend itself lists and that the glob matches."""


@attrs.frozen(eq=False)
class Models:
    """`routes` is the table: client's name, exact or a glob in `*`, `?` and `[…]`, to Entry.

    An exact name wins, then the longest glob that matches; upper and lower case differ.
    """

    routes: Mapping[str, Entry] = whole_table()
    _globs: tuple[str, ...] = attrs.field(init=False)

    @_globs.default
    def _longest_first(self) -> tuple[str, ...]:
        return tuple(sorted(filter(_is_glob, self.routes), key=len, reverse=True))

    @hookimpl
    def check(self, config: Config) -> None:
        """Refuse a table that serves nobody, a glob that is none, and a route to a backend that does not exist."""
        if not self.routes:
            hint = 'add a line: "claude-*" = { backend = "NAME" }'
            raise ConfigError("is empty: there is no model to serve", file=config.file, table="models", hint=hint)
        for name, entry in self.routes.items():
            if _is_open(name):
                hint = "close it, or write [[] for the character itself"
                raise ConfigError("'[' is not closed", file=config.file, table="models", key=f'"{name}"', hint=hint)
            config.backend(entry.backend, table="models", key=name)

    @hookimpl
    def route(self, request: Request) -> Route | None:
        """The one candidate for the request's model; None for an unknown name, which another plugin may know."""
        entry = self._entry(request.model)
        if entry is None:
            return None
        model = entry.model or request.model
        return Route((Candidate(entry.backend, model, entry.max_output_tokens, entry.context, entry.extra_body),))

    @hookimpl
    def list_models(
        self, request: Request, clients: Mapping[str, UpstreamClient]
    ) -> list[Model] | Awaitable[list[Model]]:
        """The exact names in the order of the table, then what backends list where a glob says so.

        Of one model that is asked for, that one: whatever is routed is there.
        """
        if request.model:
            return self._named(request.model, clients)
        named = {name: _model(name, entry) for name, entry in self.routes.items() if not _is_glob(name)}
        asks = any(self.routes[glob].list for glob in self._globs)
        return self._with_listed(named, clients) if asks and clients else list(named.values())

    def _named(self, name: str, clients: Mapping[str, UpstreamClient]) -> list[Model] | Awaitable[list[Model]]:
        entry = self._entry(name)
        if entry is None:
            return []
        asks = entry.list and name not in self.routes and entry.backend in clients
        return _asked(name, entry, clients[entry.backend]) if asks else [_model(name, entry)]

    async def _with_listed(self, found: dict[str, Model], clients: Mapping[str, UpstreamClient]) -> list[Model]:
        for glob in self._globs:
            entry = self.routes[glob]
            if entry.list and entry.backend in clients:
                for model in await _served(clients[entry.backend]):
                    if self._entry(model.id) is entry:
                        found.setdefault(model.id, _model(model.id, entry, model))
        return list(found.values())

    def _entry(self, name: str) -> Entry | None:
        if name in self.routes:
            return self.routes[name]
        return next((self.routes[glob] for glob in self._globs if fnmatchcase(name, glob)), None)


def _model(name: str, entry: Entry, served: Model | None = None) -> Model:
    context = entry.context or (served.context if served else None)
    created = served.created if served else 0
    return Model(name, entry.display_name or name, created, context, entry.max_output_tokens)


async def _asked(name: str, entry: Entry, client: UpstreamClient) -> list[Model]:
    """The one model, with what its backend says of it."""
    served = {model.id: model for model in await _served(client)}
    return [_model(name, entry, served.get(entry.model or name))]


async def _served(client: UpstreamClient) -> list[Model]:
    """What a backend lists, by its names; [] when it does not answer in time, which the log tells."""
    try:
        with anyio.fail_after(LIST_TIME):
            data = await served_models(client)
    except (UpstreamError, TimeoutError) as error:
        structlog.get_logger().warning("backend lists no models", backend=client.backend.name, why=str(error))
        return []
    return data


def _is_open(name: str) -> bool:
    """Whether a `[` has no `]`: it would stand for itself."""
    return "[" in _SETS.sub("", name)


def _is_glob(name: str) -> bool:
    return any(character in name for character in "*?[")
