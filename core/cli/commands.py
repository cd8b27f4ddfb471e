"""Commands that plugins bring: entry points of the group `hookline.commands`, each a name below `hookline`.

An entry point names a function `commands(listed)` that gives a `typer.Typer`. It is imported when its command is called
or shown in a help, not before: no installed package can slow or break `hookline serve`.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from core.errors import ConfigError

GROUP: Final = "hookline.commands"


class Commands(TyperGroup):
    """The `hookline` command: its own commands, and behind them those of plugins."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in sorted(_entries()) if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None for none. One that cannot be imported ends the process with one line."""
        own = super().get_command(ctx, cmd_name)
        if own is None and (entry := _entries().get(cmd_name)) is not None:
            return _command(entry)
        return own

    def invoke(self, ctx: Any) -> Any:
        """Run it; a configuration that cannot be read is one line."""
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            _fail(str(error))


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _command(entry: EntryPoint) -> Any:
    from core.cli.listed import listed  # noqa: PLC0415  what it needs would hold up `hookline serve`
    from core.culprit import FAULTS  # noqa: PLC0415
    from core.loader.discovery import distribution_of  # noqa: PLC0415
    from core.raised import in_words  # noqa: PLC0415

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
