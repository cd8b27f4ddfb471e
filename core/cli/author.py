"""The commands for authors of plugins: `schema`, `plugins`, `new-plugin` and `trace`.

What they need is imported when one runs: `hookline serve` would wait for it.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import attrs
import typer

from core.config.path import config_path
from core.errors import ConfigError

if TYPE_CHECKING:
    from core.cli.trace import Source
    from core.trace import Step


def add_commands(cli: typer.Typer) -> None:
    """Add them to the command."""
    cli.command("schema")(schema)
    cli.command("plugins")(plugins)
    cli.command("new-plugin")(new_plugin_command)
    cli.command("trace")(trace_command)


def schema() -> None:
    """Print the JSON Schema of pipelines.toml, for editors."""
    from core.cli.installed import installed_plugins  # noqa: PLC0415
    from core.cli.schema import schema_of  # noqa: PLC0415

    typer.echo(json.dumps(schema_of(installed_plugins()), indent=2, ensure_ascii=False))


def plugins() -> None:
    """List the installed plugins, their hooks and options."""
    from core.cli.installed import installed_plugins  # noqa: PLC0415
    from core.cli.plugins import plugins_text  # noqa: PLC0415

    typer.echo(plugins_text(installed_plugins()))


def new_plugin_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name, as pipelines.toml has it.")],
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write it.", show_default="./hookline-NAME")
    ] = None,
) -> None:
    """Write a package with a backend of your own."""
    from core.cli.scaffold import ScaffoldError, new_plugin  # noqa: PLC0415

    try:
        target = new_plugin(name, directory)
    except ScaffoldError as error:
        _fail(str(error))
    there = shlex.quote(str(target))
    typer.echo(f"{target} is written; try: cd {there} && pip install HOOKLINE '.[test]' && pytest && hookline check")


def trace_command(  # noqa: PLR0917  the options of a command
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A request (JSON), a captured exchange, or the pipelines.toml to read."),
    ],
    request: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The client's request, JSON; wins over FILE's.")
    ] = None,
    upstream: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The upstream's bytes, events or JSON; nothing goes out then.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The pipelines.toml.", show_default="PIPELINES_TOML, or ./pipelines.toml"),
    ] = None,
    pipeline: Annotated[str, typer.Option(metavar="NAME", help="The pipeline to use.", show_default="the first")] = "",
    status: Annotated[int, typer.Option(min=100, max=599, metavar="N", help="The upstream's status.")] = 200,
    cut: Annotated[int, typer.Option(min=0, metavar="BYTES", help="Cut the upstream's bytes so often; 0: never.")] = 0,
    live: Annotated[bool, typer.Option("--live", help="Ask the upstream, also for a captured exchange.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show long values whole.")] = False,
) -> None:
    """Run one request and show what each hook does."""
    from core.cli.trace import TraceError, calls_of, http_of, trace  # noqa: PLC0415
    from core.config.file import read_config  # noqa: PLC0415
    from core.loader import load  # noqa: PLC0415
    from core.trace import line_of  # noqa: PLC0415

    _find_modules_here()
    width = {"width": 0} if full else {}
    try:
        source = _source_of(file, request)
        path = file if file.suffix == ".toml" else config or config_path(os.environ)
        loaded = load(read_config(path, os.environ))
        http = http_of(source, loaded.pipelines, pipeline)
        calls = calls_of(source, upstream, status=status, cut=cut, live=live)
    except (TraceError, ConfigError) as error:
        _fail(str(error))

    unheard: list[OSError] = []

    def tell(step: Step) -> None:
        # Raised here it would be a fault of the gateway's that is traced.
        if not unheard:
            try:
                typer.echo(line_of(step, **width))
            except OSError as error:
                unheard.append(error)

    try:
        outcome = trace(loaded, http, calls, tell)
    except TraceError as error:
        _fail(str(error))
    if unheard:
        raise unheard[0]
    if not 200 <= outcome.status < 300:
        raise typer.Exit(1)


def _find_modules_here() -> None:
    """Let `module:Class` be found in the working directory, behind all else, as `hookline serve` does."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)


def _source_of(file: Path, request: Path | None) -> Source:
    from core.cli.trace import TraceError, read_source  # noqa: PLC0415

    if file.suffix == ".toml":
        if request is None:
            raise TraceError("a pipelines.toml alone is no request: name one with --request")
        return read_source(request)
    source = read_source(file)
    return source if request is None else attrs.evolve(source, body=read_source(request).body)


def _fail(text: str) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(1)
