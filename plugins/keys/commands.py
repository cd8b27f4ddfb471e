"""`hookline keys`: makes, lists and revokes keys, and tells what they used."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import attrs
import typer

from core import Config
from plugins.keys.entry import EntryError, Key, checked_name, key_of
from plugins.keys.key_file import KeyFile, KeyFileError
from plugins.keys.limits import Limits, Period
from plugins.keys.moments import SPANS, moment_of, span_of
from plugins.keys.plugin import Keys
from plugins.keys.shown import key_value, keys_text, usage_text
from plugins.keys.token import hash_of, new_token
from plugins.keys.usage import UsageError, usage_of

Listed = Callable[[type[Keys], Path | None], tuple[Config, list[Keys]]]

_Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The pipelines.toml.", show_default="PIPELINES_TOML, or ./pipelines.toml"),
]
_File = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The file with the keys.", show_default="the one of pipelines.toml")
]
_JSON = Annotated[bool, typer.Option("--json", help="As JSON.")]
_Count = typer.Option(min=0, metavar="N", show_default="pipelines.toml's; 0: no limit")


@attrs.frozen
class Place:
    """Where the keys are: their file, that of their usage, and the limits of those that have none of their own."""

    keys: KeyFile
    usage: Path
    defaults: Limits


def commands(listed: Listed) -> typer.Typer:
    """The command with its four commands; `listed` finds the plugin in a pipelines.toml."""
    cli = typer.Typer(
        help="Make, list and revoke the keys of clients.",
        no_args_is_help=True,
    )

    @cli.command()
    def add(  # noqa: PLR0917  the options of a command
        name: Annotated[str, typer.Argument(metavar="NAME", help="What logs and metrics call it.")],
        model: Annotated[
            list[str] | None,
            typer.Option(metavar="GLOB", help="A model that it may use; may be repeated.", show_default="all"),
        ] = None,
        requests_per_minute: Annotated[int | None, _Count] = None,
        tokens_per_minute: Annotated[int | None, _Count] = None,
        max_concurrent: Annotated[int | None, _Count] = None,
        budget_tokens: Annotated[int | None, _Count] = None,
        budget_period: Annotated[Period | None, typer.Option(help="Of the budget.", show_default="month")] = None,
        expires: Annotated[
            str | None,
            typer.Option(
                metavar="WHEN", help=f"A date (2027-01-31), or a time from now: {SPANS}.", show_default="never"
            ),
        ] = None,
        file: _File = None,
        config: _Config = None,
    ) -> None:
        """Make a key and print it, this once."""
        given = {
            "models": tuple(model) if model else None,
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "max_concurrent": max_concurrent,
            "budget_tokens": budget_tokens,
            "budget_period": budget_period,
        }
        _add(
            _place(listed, file, config),
            name,
            {key: value for key, value in given.items() if value is not None},
            expires,
        )

    @cli.command("list")
    def list_keys(as_json: _JSON = False, file: _File = None, config: _Config = None) -> None:
        """List the keys, without their secrets."""
        place = _place(listed, file, config)
        keys = _read(place.keys)
        if as_json:
            typer.echo(json.dumps([key_value(key, place.defaults, time.time()) for key in keys], indent=2))
        else:
            typer.echo(keys_text(keys, place.defaults, time.time()))

    @cli.command()
    def revoke(
        key: Annotated[str, typer.Argument(metavar="KEY", help="Its id or its name.")],
        file: _File = None,
        config: _Config = None,
    ) -> None:
        """Revoke a key: within a second no running server lets it in."""
        _revoke(_place(listed, file, config), key)

    @cli.command()
    def usage(
        key: Annotated[str, typer.Argument(metavar="[KEY]", help="Its id or its name.", show_default="all")] = "",
        since: Annotated[
            str, typer.Option(metavar="TIME", help=f"So far back: {SPANS}; beyond 35 days by day.")
        ] = "24h",
        as_json: _JSON = False,
        file: _File = None,
        config: _Config = None,
    ) -> None:
        """Tell what each key used, and what is left of its budget."""
        place = _place(listed, file, config)
        keys = _read(place.keys)
        chosen = [_find(keys, key)] if key else list(keys)
        try:
            found = usage_of(chosen, place.defaults, place.usage, span_of(since).total_seconds(), time.time())
        except (UsageError, ValueError) as error:
            _fail(str(error))
        typer.echo(json.dumps([each.value() for each in found], indent=2) if as_json else usage_text(found))

    return cli


def _place(listed: Listed, file: Path | None, config: Path | None) -> Place:
    """Where the keys are. Raises ConfigError."""
    if file is not None and config is None:
        return Place(KeyFile(file), file.parent / Keys().usage, Limits())
    read, plugins = listed(Keys, config)
    if not plugins:
        typer.echo(f"{read.file}: no pipeline lists the plugin 'keys' yet: no key is asked for", err=True)
    plugins = plugins or [Keys()]
    places = {
        each.files(read): each for each in plugins if file is None or each.files(read)[0].resolve() == file.resolve()
    }
    if len(places) != 1:
        _fail(f"{read.file}: {'several files' if places else 'no such file'} of keys; name one of its own with --file")
    ((keys, usage), plugin) = next(iter(places.items()))
    return Place(KeyFile(keys), usage, plugin.defaults)


def _add(place: Place, name: str, given: dict[str, Any], expires: str | None) -> None:
    token = new_token()
    now = datetime.now(UTC)
    try:
        until = _expiry(expires, now) if expires is not None else None
        made = Key(token.id, checked_name(name), hash_of(token.secret), created=now, expires=until, given=given)
        key = key_of(made.table())  # what could not be read again would take all other keys with it
        place.keys.change(lambda keys: (*_without_name(keys, name), key))
    except (EntryError, KeyFileError) as error:
        _fail(str(error))
    # The key alone on standard output, for KEY=$(hookline keys add NAME).
    typer.echo(f"key {name!r} is in {place.keys.path}; it is shown this once:", err=True)
    typer.echo(token.text)


def _expiry(text: str, now: datetime) -> datetime:
    try:
        return now + span_of(text)
    except (ValueError, OverflowError):
        pass
    try:
        found = moment_of(text)
    except (ValueError, OverflowError):
        raise EntryError(f"{text!r} is no date such as 2027-01-31 and no time from now such as {SPANS}") from None
    if found <= now:
        raise EntryError(f"{text!r} is over already")
    return found


def _without_name(keys: tuple[Key, ...], name: str) -> tuple[Key, ...]:
    """The keys, of which none that is in use may have the name. Raises EntryError."""
    if any(key.name == name and key.revoked is None for key in keys):
        raise EntryError(f"there is a key {name!r} already; revoke it, or choose another name")
    return keys


def _revoke(place: Place, wanted: str) -> None:
    revoked: list[Key] = []

    def change(keys: tuple[Key, ...]) -> list[Key]:
        key = _find(keys, wanted)
        if key.revoked is not None:
            _fail(f"the key {wanted!r} is revoked already")
        revoked.append(key)
        now = datetime.now(UTC)
        return [attrs.evolve(each, revoked=now) if each is key else each for each in keys]

    try:
        place.keys.change(change)
    except KeyFileError as error:
        _fail(str(error))
    typer.echo(f"revoked: {revoked[0].name} ({revoked[0].id})")


def _find(keys: tuple[Key, ...], wanted: str) -> Key:
    """The key of that id, or the one of that name that is in use, or the last that was."""
    named = [key for key in keys if key.name == wanted]
    found = [key for key in keys if key.id == wanted] or [key for key in named if key.revoked is None] or named[-1:]
    if not found:
        _fail(f"no key {wanted!r}; these are there: {', '.join(key.name for key in keys) or 'none'}")
    return found[0]


def _read(file: KeyFile) -> tuple[Key, ...]:
    try:
        return file.read()
    except KeyFileError as error:
        _fail(str(error))


def _fail(text: str) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(1)
