"""What the parts of a configuration were made of, so that the next one keeps those that it would make alike.

A backend is kept whole, its client, its state and all its plugins, or not at all; a front plugin is kept by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import structlog

from core.balance.state import BackendState
from core.chat.client import UpstreamClient
from core.config import BackendConfig
from core.culprit import FAULTS, notes_of

Plugins = Mapping[str, object]
"""Plugins by name, in the order of their registration."""


@attrs.frozen(eq=False, repr=False)
class FrontPart:
    """A front plugin, the class that it is of, and the options it was given."""

    cls: type
    options: Mapping[str, Any]
    plugin: object


@attrs.define(eq=False, repr=False)
class BackPart:
    """A backend: its table, its plugins and their classes, what its `ca` held, its client once that is made, and what
    the process knows of it."""

    config: BackendConfig
    classes: tuple[type, ...]
    ca: bytes
    plugins: Plugins
    client: UpstreamClient | None = None
    state: BackendState = attrs.field(init=False)

    @state.default
    def _fresh(self) -> BackendState:
        return BackendState(self.config)


@attrs.frozen(eq=False, repr=False)
class Made:
    """The parts of one configuration: front plugins by pipeline and plugin, backends by name."""

    fronts: dict[tuple[str, str], FrontPart] = attrs.field(factory=dict)
    backs: dict[str, BackPart] = attrs.field(factory=dict)

    def front(self, key: tuple[str, str], cls: type, options: Mapping[str, Any]) -> FrontPart | None:
        """The part of that key, if it is of this class and these options."""
        part = self.fronts.get(key)
        return part if part is not None and part.cls is cls and same(part.options, options) else None

    def back(self, config: BackendConfig, classes: tuple[type, ...], ca: bytes) -> BackPart | None:
        """The part of that backend, if it was made of the same."""
        part = self.backs.get(config.name)
        alike = part is not None and part.classes == classes and part.ca == ca and same(part.config, config)
        return part if alike else None


def hand_over(before: Iterable[Made], after: Made) -> None:
    """Let what is new in `after`, which is about to serve, go on where the parts that it replaces stand.

    `before` is all that still serves, the oldest first. A backend at the same url takes over the places; a plugin that
    has a method `take_over` is given the one of the same class and place. A fault of its own is told in the log.
    """
    states: dict[tuple[str, str], BackendState] = {}
    plugins: dict[tuple[str, ...], object] = {}
    for made in before:
        states.update((_server(part.config), part.state) for part in made.backs.values())
        plugins.update(_plugins(made))
    for part in after.backs.values():
        old = states.get(_server(part.config)) if part.config.url else None
        if old is not None:
            part.state.take_over(old)
    for place, plugin in _plugins(after):
        former = plugins.get(place)
        take_over = getattr(plugin, "take_over", None)
        if former is None or former is plugin or type(former) is not type(plugin) or take_over is None:
            continue
        try:
            take_over(former)
        except FAULTS as error:
            notes = [*notes_of(error), f"in take_over of plugin {place[-1]!r}"]
            structlog.get_logger().error("fault", notes=notes, exc_info=error)


def _server(config: BackendConfig) -> tuple[str, str]:
    return config.name, config.url.strip().rstrip("/")


def _plugins(made: Made) -> Iterator[tuple[tuple[str, ...], object]]:
    """All plugins, by their place."""
    for (pipeline, name), front in made.fronts.items():
        yield ("pipelines", pipeline, name), front.plugin
    for backend, back in made.backs.items():
        for name, plugin in back.plugins.items():
            yield ("backends", backend, name), plugin


def same(one: object, other: object) -> bool:
    """Whether two values of a configuration are equal, and not only as 1, 1.0 and true are."""
    # A repr has no secrets, which the comparison sees to; it has types, and the order of keys, which bodies keep.
    return one == other and repr(one) == repr(other)


def fingerprint(ca: str) -> bytes:
    """What stands for the content of a backend's `ca` file; b"" where there is none."""
    return hashlib.sha256(Path(ca).read_bytes()).digest() if ca else b""
