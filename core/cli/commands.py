"""Commands that plugins bring: entry points of the group `hookline.commands`, each a name below `hookline`.

An entry point names a function `commands(listed)` that gives a `typer.Typer`. It is imported when its command is called
or shown in a help, not before: no installed package can slow or break `hookline serve`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import typer
from typer.core import TyperGroup

from core.config import Config
from core.config.file import config_path, read_config
from core.config.types import make_converter
from core.culprit import FAULTS
from core.errors import ConfigError
from core.loader.discovery import Catalogue, distribution_of
from core.loader.places import Places
from core.raised import in_words

GROUP: Final = "hookline.commands"

T = TypeVar("T")
Listed = Callable[[type[T], Path | None], tuple[Config, list[T]]]
"""What `listed` is: see there."""


def listed(cls: type[T], file: Path | None = None) -> tuple[Config, list[T]]:
    """A pipelines.toml, and the plugins of that class in its pipelines, made with their options but not checked.

    `file` None is the one that `hookline serve` would read here. Raises ConfigError.
    """
    if (here := str(Path.cwd())) not in sys.path:  # for `module:Class`, as serving has it
        sys.path.append(here)
    config = read_config(file or config_path(os.environ), os.environ)
    places = Places(config, Catalogue.installed(), make_converter(os.environ))
    plugins = [plugin for pipeline in config.pipelines for plugin in places.front(pipeline).values()]
    return config, [plugin for plugin in plugins if isinstance(plugin, cls)]


class Commands(TyperGroup):
    """The `hookline` command: its own commands, and behind them those of plugins."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in sorted(_entries()) if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None for none. One that cannot be imported ends the process with one line."""
        own = super().get_command(ctx, cmd_name)
        entry = _entries().get(cmd_name)
        return _command(entry) if own is None and entry is not None else own

    def invoke(self, ctx: Any) -> Any:
        """Run it; a configuration that cannot be read is one line."""
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            _fail(str(error))


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _command(entry: EntryPoint) -> Any:
    try:
        app = entry.load()(listed)
        if not isinstance(app, typer.Typer):
            raise TypeError(f"it gave {type(app).__name__}, not typer.Typer")
        # Below a command of ours it has our kind of help.
        parent = typer.Typer(add_completion=False, rich_markup_mode=None)
        parent.add_typer(app, name=entry.name)
        group: Any = typer.main.get_command(parent)
    except FAULTS as error:
        _fail(f"command {entry.name!r} of {distribution_of(entry)} cannot be used: {in_words(error)}")
    return group.commands[entry.name]


def _fail(text: str) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(1)
