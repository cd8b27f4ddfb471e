"""Who is let in: pipelines that ask for keys, and the rule that all of them must."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from core.errors import ConfigError
from core.loader.assemble import Loaded
from core.pipeline import Pipeline

WANTED: Final = "HOOKLINE_KEYS_WANTED"
"""The environment variable that is set for a server's processes when every pipeline must ask for keys."""


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
    if environ.get(WANTED) and (names := open_ones(loaded.pipelines)):
        raise ConfigError(
            f"pipeline {names} asks for no keys, and the server is open to other machines",
            file=loaded.config.file,
            hint="list the plugin 'keys' there, or start it with --without-keys, too",
        )
