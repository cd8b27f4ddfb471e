"""`models`: chooses backend and upstream model by the name the client sent, from the table [models]."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import attrs

from core import Candidate, Config, Model, Request, RequestError, Route, hookimpl, whole_table


@attrs.frozen
class Entry:
    """Where requests for one name go: a backend, and the model's name there ("": the one the client sent)."""

    backend: str
    model: str = ""
    display_name: str = ""


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
        """Refuse a route to a backend that does not exist."""
        for name, entry in self.routes.items():
            config.backend(entry.backend, table="models", key=name)

    @hookimpl
    def route(self, request: Request) -> Route | None:
        """The one candidate for the request's model. Raises RequestError, kind `not_found`, for an unknown name."""
        if request.task == "models":
            return None
        entry = self._entry(request.model)
        if entry is None:
            raise RequestError(f"model: {request.model}", kind="not_found")
        return Route((Candidate(entry.backend, entry.model or request.model),))

    @hookimpl
    def list_models(self) -> list[Model]:
        """The exact names, in the order of the table."""
        return [Model(name, entry.display_name) for name, entry in self.routes.items() if not _is_glob(name)]

    def _entry(self, name: str) -> Entry | None:
        if name in self.routes:
            return self.routes[name]
        return next((self.routes[glob] for glob in self._globs if fnmatchcase(name, glob)), None)


def _is_glob(name: str) -> bool:
    return any(character in name for character in "*?[")
