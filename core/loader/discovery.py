"""Plugin names -> classes. A name is an entry point of group `hookline.plugins`, or `module:Class`.

Nothing is imported but what is asked for: an installed package that no table names cannot slow or break the start.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter

import attrs

from core.config.faults import TableError, did_you_mean
from core.culprit import FAULTS
from core.loader.classes import implementations_of
from core.raised import in_words

GROUP = "hookline.plugins"


@attrs.frozen(eq=False)
class Catalogue:
    """The entry points of our group, as installed; `found` keeps the classes already imported, by name."""

    entries: tuple[EntryPoint, ...]
    found: dict[str, type] = attrs.field(factory=dict, init=False)

    @classmethod
    def installed(cls) -> Catalogue:
        """What the environment's distributions declare; imports none of it."""
        return cls(tuple(entry_points(group=GROUP)))

    def find(self, name: str, *, as_wrapper: bool = False) -> type:
        """The class that a plugin's name stands for; `as_wrapper` has an unknown name answered with wrappers alone.

        Raises TableError: no such plugin, two distributions declare it, it fails to import, it is not a class.
        """
        if name not in self.found:
            self.found[name] = self._load(name, as_wrapper)
        return self.found[name]

    def owner(self, name: str) -> str:
        """The plugin as errors call it: with the distribution that it comes from."""
        entry = next((each for each in self.entries if each.name == name), None)
        return owner_of(entry) if entry else f"plugin {name!r}"

    def _load(self, name: str, as_wrapper: bool) -> type:
        module, colon, attribute = name.partition(":")
        if colon:
            entry = EntryPoint(name, name, GROUP)
            if not (_is_path(module) and _is_path(attribute)):
                raise TableError(f"plugin {name!r} is not of the form module:Class")
        else:
            entry = self._entry(name, as_wrapper)
        return import_class(entry)

    def _entry(self, name: str, as_wrapper: bool) -> EntryPoint:
        entries = [entry for entry in self.entries if entry.name == name]
        if not entries:
            names = self._wrappers() if as_wrapper else (entry.name for entry in self.entries)
            near = did_you_mean(name, names, "wrappers" if as_wrapper else "installed")
            raise TableError(
                f"no plugin {name!r}", hint=f"{near} or write module:Class" if near else "write module:Class"
            )
        if len(entries) > 1:
            owners = " and ".join(sorted(distribution_of(entry) for entry in entries))
            raise TableError(
                f"plugin {name!r} comes from {owners}", hint="uninstall one of them, or write module:Class"
            )
        return entries[0]

    def _wrappers(self) -> Iterator[str]:
        """The installed plugins that wrap a hook. Imports them all: the start has failed already."""
        for entry in self.entries:
            try:
                cls = self.find(entry.name)
            except TableError:
                continue
            if any(each.wrapper for each in implementations_of(cls)):
                yield entry.name


def owner_of(entry: EntryPoint) -> str:
    """An entry point as errors call it."""
    return f"plugin {entry.name!r}" + (f" of {distribution_of(entry)}" if entry.dist else "")


def import_class(entry: EntryPoint) -> type:
    """The class that an entry point names. Raises TableError when there is none to be had."""
    owner = owner_of(entry)
    if EntryPoint.pattern.match(entry.value) is None or not entry.attr:
        raise TableError(f"{owner} is not of the form module:Class: {entry.value!r}")
    try:
        # What a module prints must not get into a schema or a log that goes to standard output.
        with redirect_stdout(sys.stderr):
            module = importlib.import_module(entry.module)
            loaded: object = attrgetter(entry.attr)(module)
    except AttributeError as error:
        if (imported := sys.modules.get(entry.module)) is None:
            raise TableError(f"{owner} fails to import: {in_words(error)}") from error
        hint = did_you_mean(entry.attr, _classes(vars(imported).values()), "classes")
        raise TableError(f"{owner}: module {entry.module!r} has no {entry.attr!r}", hint=hint) from error
    except FAULTS as error:
        raise TableError(f"{owner} fails to import: {in_words(error)}") from error
    if not isinstance(loaded, type):
        raise TableError(f"{owner} is not a class: {entry.value} is a {type(loaded).__name__}")
    return loaded


def _classes(values: Iterable[object]) -> list[str]:
    return [value.__name__ for value in values if isinstance(value, type)]


def distribution_of(entry: EntryPoint) -> str:
    """Name and version of the distribution that declares an entry point."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"


def _is_path(text: str) -> bool:
    return bool(text) and all(part.isidentifier() for part in text.split("."))
