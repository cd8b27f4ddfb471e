"""What is installed: every plugin of every distribution, imported one by one, so that a broken one hides no other."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Literal

import attrs

from core.config.faults import TableError
from core.contract import check_contract
from core.loader.classes import FRONT, check_class, implementations_of
from core.loader.discovery import Catalogue, distribution_of, import_class, owner_of

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

    def answers(self, hook: str) -> bool:
        """Whether it answers the hook."""
        return (hook, False) in self.hooks


def installed_plugins(entries: Iterable[EntryPoint] | None = None) -> list[InstalledPlugin]:
    """All plugins of the environment (None) or of these entry points, by name. Imports every one of them."""
    found = Catalogue.installed().entries if entries is None else entries
    return [_read(entry) for entry in sorted(set(found), key=lambda entry: (entry.name, distribution_of(entry)))]


def _read(entry: EntryPoint) -> InstalledPlugin:
    plugin = InstalledPlugin(entry.name, distribution_of(entry))
    try:
        cls = import_class(entry)
    except TableError as fault:
        return attrs.evolve(plugin, fault=_told(entry, fault))
    try:
        hooks = tuple((each.hook, each.wrapper) for each in implementations_of(cls))
        plugin = attrs.evolve(plugin, cls=cls, hooks=hooks)
        check_contract(owner_of(entry), cls)
        check_class(entry.name, cls, in_backend=False)
    except TableError as fault:
        return attrs.evolve(plugin, fault=_told(entry, fault))
    except Exception as error:  # noqa: BLE001  a class may be as odd as it likes: the others are shown all the same
        return attrs.evolve(plugin, fault=f"{type(error).__name__}: {error}")
    return plugin


def _told(entry: EntryPoint, fault: TableError) -> str:
    """The fault without the words that say which plugin it is."""
    text = fault.message
    for owner in (owner_of(entry), f"plugin {entry.name!r}"):
        text = text.removeprefix(owner).lstrip(": ")
    return f"{text}; {fault.hint}" if fault.hint else text
