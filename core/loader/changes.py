"""What is new in a configuration, in words for the log: names of tables and keys, never a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from core.config import PipelineConfig
from core.loader.assemble import Loaded
from core.loader.reuse import same


def changes(before: Loaded, after: Loaded) -> dict[str, Any]:
    """Backends and pipelines by what became of them, and the changed keys of [server]; what is empty is left out."""
    old, new = before.made.backs, after.made.backs
    backends = _sorted(old, new, [name for name in new if old.get(name) is new[name]])
    here, there = (_pipelines(each) for each in (before, after))
    kept = [name for name in there if name in here and _alike(here[name], there[name], before, after)]
    one, other = attrs.asdict(before.config.server), attrs.asdict(after.config.server)
    server = [key for key, value in other.items() if value != one[key]]
    found = {"backends": backends, "pipelines": _sorted(here, there, kept), "server": server}
    return {what: names for what, names in found.items() if names}


def _pipelines(loaded: Loaded) -> dict[str, PipelineConfig]:
    return {pipeline.name: pipeline for pipeline in loaded.config.pipelines}


def _alike(one: PipelineConfig, other: PipelineConfig, before: Loaded, after: Loaded) -> bool:
    """Whether it is mounted at the same paths, and all of its plugins are kept."""
    keys = [(one.name, name) for name in other.plugins]
    return same(one, other) and all(before.made.fronts.get(key) is after.made.fronts.get(key) for key in keys)


def _sorted(before: Iterable[str], after: Iterable[str], kept: list[str]) -> dict[str, list[str]]:
    names, others = list(before), list(after)
    found = {
        "added": [name for name in others if name not in names],
        "changed": [name for name in others if name in names and name not in kept],
        "removed": [name for name in names if name not in others],
        "kept": kept,
    }
    return {what: each for what, each in found.items() if each}
