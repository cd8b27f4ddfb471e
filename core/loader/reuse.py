"""What the parts of a configuration were made of, so that the next one keeps those that it would make alike.

A backend is kept whole, its client, its state and all its plugins, or not at all; a front plugin is kept by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from core.balance.state import BackendState
from core.chat.client import UpstreamClient
from core.config import BackendConfig

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


def same(one: object, other: object) -> bool:
    """Whether two values of a configuration are equal, and not only as 1, 1.0 and true are."""
    # A repr has no secrets, which the comparison sees to; it has types, and the order of keys, which bodies keep.
    return one == other and repr(one) == repr(other)


def fingerprint(ca: str) -> bytes:
    """What stands for the content of a backend's `ca` file; b"" where there is none."""
    return hashlib.sha256(Path(ca).read_bytes()).digest() if ca else b""
