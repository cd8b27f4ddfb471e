"""The plugin `models`: `route` and `list_models`, from its table."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from fnmatch import fnmatchcase
from typing import Final

import attrs

from core import Config, ConfigError, Model, Request, Route, hookimpl, whole_table
from core.chat import UpstreamClient
from plugins.models.entry import Entry
from plugins.models.listing import listed_model, served_by

_SETS: Final = re.compile(r"\[!?+\]?+[^\]]*\]")

Entries = tuple[Entry, ...]


@attrs.frozen(eq=False)
class Models:
    """`routes` is the table: client's name, exact or a glob in `*`, `?` and `[…]`, to one Entry or several.

    An exact name wins, then the longest glob that matches; upper and lower case differ.
    """

    routes: Mapping[str, Entry | tuple[Entry, ...]] = whole_table()
    _entries: Mapping[str, Entries] = attrs.field(init=False)
    _globs: tuple[str, ...] = attrs.field(init=False)

    @_entries.default
    def _as_several(self) -> Mapping[str, Entries]:
        return {name: (entry,) if isinstance(entry, Entry) else tuple(entry) for name, entry in self.routes.items()}

    @_globs.default
    def _longest_first(self) -> tuple[str, ...]:
        return tuple(sorted(filter(_is_glob, self.routes), key=len, reverse=True))

    @hookimpl
    def check(self, config: Config) -> None:
        """Refuse a table that serves nobody, a glob that is none, no candidate or the same twice, and a route to a
        backend that does not exist."""
        if not self.routes:
            hint = 'add a line: "claude-*" = { backend = "NAME" }'
            raise ConfigError("is empty: there is no model to serve", file=config.file, table="models", hint=hint)
        for name, entries in self._entries.items():
            if fault := _fault(name, entries):
                message, hint = fault
                raise ConfigError(message, file=config.file, table="models", key=f'"{name}"', hint=hint)
            for entry in entries:
                config.backend(entry.backend, table="models", key=name)

    @hookimpl
    def route(self, request: Request) -> Route | None:
        """The candidates for the request's model; None for an unknown name, which another plugin may know."""
        entries = self._find(request.model)
        return Route(tuple(entry.candidate(request.model) for entry in entries)) if entries else None

    @hookimpl
    def list_models(
        self, request: Request, clients: Mapping[str, UpstreamClient]
    ) -> list[Model] | Awaitable[list[Model]]:
        """The exact names in the order of the table, then what backends list where a glob says so.

        Of one model that is asked for, that one: whatever is routed is there.
        """
        if request.model:
            return self._named(request.model, clients)
        named = {name: listed_model(name, self._entries[name], {}) for name in self.routes if not _is_glob(name)}
        backends = [entry.backend for glob in self._globs for entry in self._entries[glob] if entry.list]
        return self._with_listed(named, backends, clients) if backends and clients else list(named.values())

    def _named(self, name: str, clients: Mapping[str, UpstreamClient]) -> list[Model] | Awaitable[list[Model]]:
        entries = self._find(name)
        if not entries:
            return []
        backends = [entry.backend for entry in entries if entry.list and entry.backend in clients]
        return (
            _asked(name, entries, backends, clients)
            if backends and name not in self.routes
            else [listed_model(name, entries, {})]
        )

    async def _with_listed(
        self, found: dict[str, Model], backends: list[str], clients: Mapping[str, UpstreamClient]
    ) -> list[Model]:
        served = await served_by(backends, clients)
        for glob in self._globs:
            entries = self._entries[glob]
            for entry in entries:
                for model in served.get(entry.backend, ()) if entry.list else ():
                    if model.id not in found and self._find(model.id) is entries:
                        found[model.id] = listed_model(model.id, entries, served)
        return list(found.values())

    def _find(self, name: str) -> Entries:
        if name in self._entries:
            return self._entries[name]
        return next((self._entries[glob] for glob in self._globs if fnmatchcase(name, glob)), ())


async def _asked(
    name: str, entries: Entries, backends: list[str], clients: Mapping[str, UpstreamClient]
) -> list[Model]:
    """The one model, with what its backends say of it."""
    return [listed_model(name, entries, await served_by(backends, clients))]


def _fault(name: str, entries: Entries) -> tuple[str, str] | None:
    """What is wrong with a line, and what to do about it."""
    if "[" in _SETS.sub("", name):  # it would stand for itself
        return "'[' is not closed", "close it, or write [[] for the character itself"
    if not entries:
        return "has no candidate", 'name one: [{ backend = "NAME" }]'
    own = name if not _is_glob(name) else ""
    places = [(entry.backend, entry.model_for(own)) for entry in entries]
    twice = next((backend for backend, model in places if places.count((backend, model)) > 1), None)
    if twice is not None:
        return f"backend {twice!r} is a candidate twice for the same model", "keep one, with the weight of both"
    return None


def _is_glob(name: str) -> bool:
    return any(character in name for character in "*?[")
