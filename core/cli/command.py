"""The `hookline` command: `serve` and `check`, what `author.py` adds, and what plugins bring.

Exit status 1 and one line on stderr when something is wrong.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from core.cli.author import add_commands
from core.cli.commands import Commands
from core.cli.output import given_up, written
from core.cli.server import curl_of, default_worker_class, serve_file, want_keys
from core.config.path import config_path
from core.errors import ConfigError
from core.guards import WANTED
from core.serve.settings import ServerError, ServerOptions, WorkerClass
from core.told import Told

_DEFAULTS: Final = ServerOptions()
_File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE", help="The pipelines.toml to read.", show_default="PIPELINES_TOML, or ./pipelines.toml"
    ),
]


def main() -> None:
    """Run the command."""
    with written():
        make_cli()()


def make_cli() -> typer.Typer:
    """The command, ready to be called."""
    cli = typer.Typer(
        cls=Commands,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    cli.callback()(hookline)
    cli.command()(serve)
    cli.command()(check)
    add_commands(cli)
    return cli


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hookline {version('hookline')}")
        raise typer.Exit


def hookline(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Let every client of the Anthropic Messages API work on any LLM server that speaks OpenAI chat completions."""


def serve(  # noqa: PLR0917  the options of a command
    file: _File = None,
    bind: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="Where to listen; may be repeated.", show_default="127.0.0.1:8080"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="Processes.")] = _DEFAULTS.workers,
    worker_class: Annotated[
        WorkerClass | None, typer.Option(help="Event loop.", show_default="uvloop where installed")
    ] = None,
    backlog: Annotated[int, typer.Option(min=1, metavar="N", help="Connections that may wait.")] = _DEFAULTS.backlog,
    keep_alive: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long an idle connection is kept.")
    ] = _DEFAULTS.keep_alive,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Listen beyond this machine although no key is asked for.")
    ] = False,
) -> None:
    """Check pipelines.toml, then serve it."""
    binds = tuple(dict.fromkeys(bind or _DEFAULTS.bind))
    loop = worker_class or default_worker_class()
    file = file or config_path(os.environ)
    options = ServerOptions(binds, workers, loop, backlog, keep_alive)
    _find_modules_here()

    def greet(addresses: tuple[str, ...], told: Told) -> None:
        try:
            typer.echo("\n".join(_greeting(file, told, addresses)))
        except OSError as error:
            raise ServerError(given_up(error)) from error

    try:
        os.environ.pop(WANTED, None)
        if not without_keys:
            want_keys(binds)
        serve_file(file, options, greet)
    except ServerError as error:
        _fail(str(error))


def check(
    file: _File = None,
) -> None:
    """Check pipelines.toml and print what it makes."""
    # Here and not above: who only serves needs nothing of it, and would wait for it.
    from core.cli.report import report  # noqa: PLC0415
    from core.config.file import read_config  # noqa: PLC0415
    from core.loader import load  # noqa: PLC0415

    _find_modules_here()
    try:
        typer.echo(report(load(read_config(file or config_path(os.environ), os.environ))))
    except ConfigError as error:
        _fail(str(error))


def _find_modules_here() -> None:
    # Hypercorn finds `module:Class` plugins in the working directory, so this command must, too; at the end of the
    # path, for a directory named like an installed package must not hide it. Workers have the same path.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)


def _fail(text: str) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(1)


def _greeting(file: Path, told: Told, binds: tuple[str, ...]) -> list[str]:
    """Where it listens, what it serves, and a command to try."""
    return [
        f"hookline {version('hookline')} serves {file} on {', '.join(binds)}",
        f"models: {', '.join(told.models) or 'none'}",
        f"try: {curl_of(binds[0], told.path, told.model, key=told.key)}",
    ]
