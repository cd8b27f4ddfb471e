"""What is installed: every plugin of every distribution, imported one by one, so that a broken one hides no other."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint
from typing import Any, Literal

import attrs

from core.config.faults import TableError
from core.config.schema import options_schema
from core.contract import check_contract
from core.culprit import FAULTS
from core.loader.classes import FRONT, check_class, implementations_of, wraps_of
from core.loader.discovery import Catalogue, distribution_of, import_class, owner_of
from core.raised import in_words

Kind = Literal["front", "backend", "wrapper", "other", "broken"]


@attrs.frozen(eq=False)
class InstalledPlugin:
    """One entry point; `cls` is None when it cannot be imported. `fault` is why a start would refuse it, or ""."""

    name: str
    distribution: str
    cls: type | None = None
    fault: str = ""
    hooks: tuple[tuple[str, bool], ...] = ()
    """Each hook, and whether it is wrapped rather than answered."""

    @property
    def kind(self) -> Kind:
        """What it is, by its hooks."""
        if self.cls is None:
            return "broken"
        if any(self.answers(hook) for hook in FRONT):
            return "front"
        if self.answers("call_upstream"):
            return "backend"
        return "wrapper" if any(wraps for _, wraps in self.hooks) else "other"

    @property
    def summary(self) -> str:
        """The first paragraph of the class's docstring, on one line."""
        text = inspect.getdoc(self.cls) if self.cls is not None and "__doc__" in vars(self.cls) else ""
        return " ".join((text or "").partition("\n\n")[0].split())

    @property
    def brings(self) -> Mapping[str, Mapping[str, Any]]:
        """The wrappers that its class names for itself, each with the options that it gives it."""
        try:
            return wraps_of(self.name, self.cls) if self.cls is not None else {}
        except TableError:
            return {}

    def answers(self, hook: str) -> bool:
        """Whether it answers the hook."""
        return (hook, False) in self.hooks


def installed_plugins(entries: Iterable[EntryPoint] | None = None) -> list[InstalledPlugin]:
    """All plugins of the environment (None) or of these entry points, by name. Imports every one of them."""
    found = set(Catalogue.installed().entries if entries is None else entries)
    owners: dict[str, list[str]] = {}
    for entry in found:
        owners.setdefault(entry.name, []).append(distribution_of(entry))
    read = [_read(entry) for entry in sorted(found, key=lambda entry: (entry.name, distribution_of(entry)))]
    return [_of_one(plugin, sorted(owners[plugin.name])) for plugin in read]


def _of_one(plugin: InstalledPlugin, owners: list[str]) -> InstalledPlugin:
    """The plugin; with a fault where others go by its name."""
    if plugin.fault or len(owners) == 1:
        return plugin
    fault = f"comes from {' and '.join(owners)}; uninstall one of them, or write module:Class"
    return attrs.evolve(plugin, fault=fault)


def _read(entry: EntryPoint) -> InstalledPlugin:
    plugin = InstalledPlugin(entry.name, distribution_of(entry))
    try:
        cls = import_class(entry)
    except TableError as fault:
        return attrs.evolve(plugin, fault=_told(entry, fault))
    try:
        hooks = tuple((each.hook, each.wrapper) for each in implementations_of(cls))
        plugin = attrs.evolve(plugin, cls=cls, hooks=hooks)
        wraps_of(entry.name, cls)
        check_contract(owner_of(entry), cls)
        check_class(entry.name, cls, in_backend=False)
    except TableError as fault:
        plugin = attrs.evolve(plugin, fault=_told(entry, fault))
    except FAULTS as error:  # a class may be as odd as it likes: the others are shown all the same
        return attrs.evolve(plugin, cls=None, hooks=(), fault=in_words(error))
    return _readable(plugin, cls)


def _readable(plugin: InstalledPlugin, cls: type) -> InstalledPlugin:
    """The plugin without its class where the options cannot be told: nothing that shows it may stumble there."""
    try:
        with redirect_stdout(sys.stderr):
            options_schema(cls)
    except FAULTS as error:
        return attrs.evolve(plugin, cls=None, hooks=(), fault=f"its options cannot be read: {in_words(error)}")
    return plugin if plugin.fault else attrs.evolve(plugin, fault=_unresolved(cls))


def _unresolved(cls: type) -> str:
    """Why the types of its fields cannot be found when it runs, which stops a start; "" when they can."""
    try:
        if attrs.has(cls):
            attrs.resolve_types(cls)
    except FAULTS as error:
        return f"has a field whose type is not defined when it runs: {in_words(error)}"
    return ""


def _told(entry: EntryPoint, fault: TableError) -> str:
    """The fault without the words that say which plugin it is."""
    text = fault.message
    for owner in (owner_of(entry), f"plugin {entry.name!r}"):
        text = text.removeprefix(owner).lstrip(": ")
    return f"{text}; {fault.hint}" if fault.hint else text
