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
from core.loader.classes import check_class
from core.loader.discovery import Catalogue

Plugins = Mapping[str, object]
"""Plugins by name, in the order of their registration."""


@attrs.frozen(eq=False)
class Places:
    """Makes plugins. Every method raises ConfigError for what cannot be made."""

    config: Config
    catalogue: Catalogue
    converter: cattrs.Converter

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
            made[name] = self._plugin(name, cls, tables)
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
        return {
            name: self._plugin(name, cls, {f"{here}.{dotted(name)}": backend.options.get(name, {})})
            for name, cls in classes.items()
        }

    def _with_wrappers(self, backend: BackendConfig, here: str) -> dict[str, type]:
        """The backend's classes in order: behind the first plugin what `wraps` names, else behind each its default."""
        classes: dict[str, type] = {}
        for position, name in enumerate(backend.plugins):
            classes[name] = self._class(name, here, in_backend=True)
            if backend.wraps is None:
                wrappers = self._default_wrappers(name, classes[name], here)
                wanted_by = name
            else:
                wrappers, wanted_by = (backend.wraps if position == 0 else ()), ""
            for wrapper in wrappers:
                if wrapper not in backend.plugins:
                    classes[wrapper] = self._wrapper(wrapper, here, wanted_by)
        return classes

    def _default_wrappers(self, name: str, cls: type, here: str) -> tuple[str, ...]:
        wraps = getattr(cls, "wraps", ())
        if isinstance(wraps, tuple) and all(isinstance(wrapper, str) for wrapper in wraps):
            return wraps
        with placed(self.config.file, here, "plugins"):
            raise TableError(f"plugin {name!r}: wraps is not a tuple of names", hint='write wraps = ("stop_scan",)')

    def _wrapper(self, name: str, here: str, wanted_by: str) -> type:
        """The class of a wrapper that the table names, or that the plugin `wanted_by` brings."""
        with placed(self.config.file, here, "plugins" if wanted_by else "wraps"):
            try:
                cls = self.catalogue.find(name, as_wrapper=True)
            except TableError as fault:
                who = f"plugin {wanted_by!r} wants a wrapper: " if wanted_by else ""
                raise TableError(f"{who}{fault.message}", hint=fault.hint) from fault
            check_contract(self.catalogue.owner(name), cls)
            check_class(name, cls, in_backend=True)
            return cls

    def _class(self, name: str, here: str, *, in_backend: bool) -> type:
        with placed(self.config.file, here, "plugins"):
            cls = self.catalogue.find(name)
            check_contract(self.catalogue.owner(name), cls)
            check_class(name, cls, in_backend=in_backend)
            return cls

    def _plugin(self, name: str, cls: type, tables: Mapping[str, Mapping[str, Any]]) -> object:
        """Made of the tables, a later one overriding; a fault is placed in the table that its key was taken from."""
        options = {key: value for table in tables.values() for key, value in table.items()}
        try:
            return make_plugin(self.converter, name, cls, options)
        except Exception as error:
            with placed(self.config.file, _owner(tables, getattr(error, "key", ""))):
                raise


def _owner(tables: Mapping[str, Mapping[str, Any]], key: str) -> str:
    """The last table that has the key; else the first, where it would be put."""
    names = list(tables)
    for name in reversed(names):
        if any(key == dotted(own) or key.startswith(f"{dotted(own)}.") for own in tables[name]):
            return name
    return names[0]
