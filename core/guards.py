"""Who is let in: pipelines that ask for keys, and the rule that all of them must."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from core.errors import ConfigError

if TYPE_CHECKING:  # the master of a server reads this module, too, and needs neither
    from core.loader import Loaded
    from core.pipeline import Pipeline

WANTED: Final = "HOOKLINE_KEYS_WANTED"
"""The environment variable by which a server's workers learn that every pipeline must ask for keys: it holds the bind
that other machines reach."""


def is_guarded(pipeline: Pipeline) -> bool:
    """Whether one of its plugins lets in those alone who have a key: its class says so by `guards`."""
    return any(getattr(plugin, "guards", False) for _, plugin in pipeline.manager.list_name_plugin())


def open_ones(pipelines: Iterable[Pipeline]) -> str:
    """The names of those that ask for no keys, for a sentence; "" when all do."""
    return ", ".join(repr(pipeline.name) for pipeline in pipelines if not is_guarded(pipeline))


def check_guards(loaded: Loaded, environ: Mapping[str, str]) -> None:
    """Refuse a pipeline that asks for no keys where they are wanted. Raises ConfigError.

    A server whose address other machines reach began with keys: no later configuration may open it.
    """
    wide = environ.get(WANTED)
    if wide and (names := open_ones(loaded.pipelines)):
        raise ConfigError(
            f"--bind {wide} is open to other machines, and pipeline {names} asks for no keys",
            file=loaded.config.file,
            hint="list the plugin 'keys' there (hookline keys add NAME makes one), bind to 127.0.0.1, or say "
            "--without-keys, too",
        )
