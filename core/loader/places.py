"""The plugins of one place, a pipeline or a backend: looked up, checked, made with the options of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import cattrs

from core.config import BackendConfig, Config, PipelineConfig
from core.config.faults import TableError, did_you_mean, dotted, placed
from core.config.options import make_plugin
from core.config.tables import keys_of
from core.contract import check_contract
from core.culprit import FAULTS
from core.errors import ConfigError
from core.loader.classes import check_class, wraps_of
from core.loader.discovery import Catalogue
from core.loader.reuse import BackPart, FrontPart, Made, Plugins, fingerprint
from core.raised import in_words


@attrs.frozen(eq=False)
class Places:
    """Makes plugins, or takes those of `previous` that are made of the same. `made` is what all were made of.

    Every method raises ConfigError for what cannot be made.
    """

    config: Config
    catalogue: Catalogue
    converter: cattrs.Converter
    previous: Made = attrs.field(factory=Made)
    made: Made = attrs.field(factory=Made, init=False)

    def front(self, pipeline: PipelineConfig) -> Plugins:
        """The pipeline's plugins, each with the table of its name, overridden key by key by the pipeline's own."""
        here = dotted("pipelines", pipeline.name)
        made = {}
        for name in pipeline.plugins:
            cls = self._class(name, here, in_backend=False)
            tables = {
                dotted(name): self.config.options.get(name, {}),
                f"{here}.{dotted(name)}": pipeline.options.get(name, {}),
            }
            key, options = (pipeline.name, name), _merged(tables)
            part = self.previous.front(key, cls, options)
            if part is None:
                part = FrontPart(cls, options, self._plugin(name, cls, tables))
            self.made.fronts[key] = part
            made[name] = part.plugin
        return made

    def back(self, backend: BackendConfig) -> Plugins:
        """The backend's plugins and their wrappers, each with the backend's sub-table of its name."""
        here = dotted("backends", backend.name)
        classes = self._with_wrappers(backend, here)
        for name in backend.options:
            if name not in classes:
                hint = did_you_mean(name, {*classes, *keys_of(BackendConfig)} - {"name", "dialect", "options"})
                with placed(self.config.file, here):
                    raise TableError(f"no plugin {name!r} is listed here", key=dotted(name), hint=hint)
        of, ca = tuple(classes.values()), self._ca(backend, here)
        part = self.previous.back(backend, of, ca)
        if part is None:
            part = BackPart(backend, of, ca, self._back_plugins(backend, classes, here))
        self.made.backs[backend.name] = part
        return part.plugins

    def _back_plugins(self, backend: BackendConfig, classes: Mapping[str, type], here: str) -> Plugins:
        brought = {name: self._brought(name, classes, backend, here) for name in classes}
        return {
            name: self._plugin(name, cls, {f"{here}.{dotted(name)}": backend.options.get(name, {})}, brought[name])
            for name, cls in classes.items()
        }

    def _ca(self, backend: BackendConfig, here: str) -> bytes:
        try:
            return fingerprint(backend.ca)
        except OSError as error:  # it was there a moment ago
            with placed(self.config.file, here, "ca"):
                raise TableError(f"{backend.ca} cannot be read: {error.strerror}") from error

    def _brought(self, wrapper: str, classes: Mapping[str, type], backend: BackendConfig, here: str) -> Brought:
        """The options that the backend's plugins give a wrapper, wherever it is listed; a later plugin's win."""
        given = {name: wraps_of(name, classes[name]).get(wrapper) for name in backend.plugins}
        return Brought(here, {name: options for name, options in given.items() if options})

    def _with_wrappers(self, backend: BackendConfig, here: str) -> dict[str, type]:
        """The backend's classes in order: behind the first plugin what `wraps` names, else behind each its default."""
        classes: dict[str, type] = {}
        for position, name in enumerate(backend.plugins):
            classes[name] = self._class(name, here, in_backend=True)
            with placed(self.config.file, here, "plugins"):
                wrappers, wanted_by = tuple(wraps_of(name, classes[name])), name
            if backend.wraps is not None:
                wrappers, wanted_by = (backend.wraps if position == 0 else ()), ""
            for wrapper in wrappers:
                if wrapper not in backend.plugins:
                    classes[wrapper] = self._wrapper(wrapper, here, wanted_by)
        return classes

    def _wrapper(self, name: str, here: str, wanted_by: str) -> type:
        """The class of a wrapper that the table names, or that the plugin `wanted_by` brings."""
        with placed(self.config.file, here, "plugins" if wanted_by else "wraps"):
            try:
                cls = self.catalogue.find(name, as_wrapper=True)
            except TableError as fault:
                who = f"plugin {wanted_by!r} wants a wrapper: " if wanted_by else ""
                raise TableError(f"{who}{fault.message}", hint=fault.hint) from fault
            self._check(name, cls, in_backend=True)
            return cls

    def _class(self, name: str, here: str, *, in_backend: bool) -> type:
        with placed(self.config.file, here, "plugins"):
            cls = self.catalogue.find(name)
            self._check(name, cls, in_backend=in_backend)
            return cls

    def _check(self, name: str, cls: type, *, in_backend: bool) -> None:
        try:
            check_contract(self.catalogue.owner(name), cls)
            check_class(name, cls, in_backend=in_backend)
        except TableError:
            raise
        except FAULTS as error:  # a metaclass, say, may do as it likes
            raise TableError(f"plugin {name!r} cannot be read: {in_words(error)}") from error

    def _plugin(
        self, name: str, cls: type, tables: Mapping[str, Mapping[str, Any]], brought: Brought | None = None
    ) -> object:
        """Made of the tables, a later one overriding; a fault is placed in the table that its key was taken from."""
        options = {**_merged(brought.options if brought else {}), **_merged(tables)}
        try:
            return make_plugin(self.converter, name, cls, options)
        except (ConfigError, TableError) as error:
            key = error.key
            if brought and (giver := brought.giver(key, tables)):
                place = f"{name!r} key {key!r}" if key else repr(name)
                with placed(self.config.file, brought.place, "plugins"):
                    said = f"plugin {giver!r} gives options to {place}: {error.message}"
                    raise TableError(said, hint=error.hint) from error
            with placed(self.config.file, _owner(tables, key)):
                raise
        except FAULTS as error:
            with placed(self.config.file, _owner(tables, "")):
                raise TableError(f"plugin {name!r} cannot be made: {in_words(error)}") from error


@attrs.frozen
class Brought:
    """The options that a wrapper is given by the classes of a backend's plugins: tables by plugin."""

    place: str
    options: Mapping[str, Mapping[str, Any]]

    def giver(self, key: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
        """The plugin that a fault is to be told of: the operator's tables have nothing to do with it; "" for none."""
        theirs = any(_has(table, key) if key else table for table in tables.values())
        named = [] if theirs else [name for name, table in self.options.items() if not key or _has(table, key)]
        return named[-1] if named else ""


def _merged(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The keys of all tables; a later one's win."""
    return {key: value for table in tables.values() for key, value in table.items()}


def _owner(tables: Mapping[str, Mapping[str, Any]], key: str) -> str:
    """The last table that has the key; else the first, where it would be put."""
    names = list(tables)
    return next((name for name in reversed(names) if _has(tables[name], key)), names[0])


def _has(table: Mapping[str, Any], key: str) -> bool:
    """Whether a dotted key is of this table."""
    return any(key == dotted(own) or key.startswith(f"{dotted(own)}.") for own in table)
