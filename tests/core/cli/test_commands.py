from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from core.cli import commands
from core.cli.command import make_cli
from core.cli.listed import Listed
from tests.core.samples import BACKEND, PIPELINE, Front, write

HERE = "tests.core.cli.test_commands"


def parrots(find: Listed[Front]) -> typer.Typer:
    cli = typer.Typer(help="Look after parrots.", no_args_is_help=True)

    @cli.command()
    def count(file: Path) -> None:
        """Count them."""
        config, found = find(Front, file)
        typer.echo(f"{config.file}: {len(found)}")

    @cli.command()
    def feed() -> None:
        """Feed them."""

    return cli


def wrong(_: object) -> int:
    return 5


def fails(_: object) -> typer.Typer:
    sys.exit("no")


@pytest.fixture(autouse=True)
def entries(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The entry points that are installed: a name and the function in this file."""
    found = {"parrots": "parrots"}

    def installed(group: str) -> list[EntryPoint]:
        assert group == "hookline.commands"
        return [EntryPoint(name, f"{HERE}:{value}", group) for name, value in found.items()]

    monkeypatch.setattr(commands, "entry_points", installed)
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(make_cli(), arguments)


def test_a_plugins_command_is_one_of_hookline(tmp_path: Path) -> None:
    path = write(tmp_path, PIPELINE + BACKEND)
    result = run("parrots", "count", str(path))
    assert (result.exit_code, result.stdout) == (0, f"{path}: 1\n")
    assert "Look after parrots." in run("--help").stdout
    assert run("parrots", "--help").stdout.startswith("Usage: root parrots ")


def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    result = run("parrots", "count", str(tmp_path / "none.toml"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{tmp_path / 'none.toml'}: no such file")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("wrong", "TypeError: it gave int, not typer.Typer"),
        ("fails", "SystemExit: no"),
        ("nothing", "AttributeError: module"),
    ],
)
def test_a_command_that_cannot_be_used_is_one_line_and_harms_no_other(
    entries: dict[str, str], value: str, said: str
) -> None:
    entries["broken"] = value
    result = run("broken", "x")
    assert result.exit_code == 1
    assert result.stderr.startswith("command 'broken' of an unknown distribution cannot be used: ")
    assert said in result.stderr
    assert run("--version").exit_code == 0
    assert run("parrots", "feed").exit_code == 0


def test_an_own_command_cannot_be_replaced(entries: dict[str, str]) -> None:
    entries["check"] = "fails"
    assert "Check pipelines.toml and print" in run("check", "--help").stdout
    assert run("--help").stdout.count("  check ") == 1


def test_an_unknown_command_is_unknown() -> None:
    assert "No such command 'parots'" in run("parots").stderr


def test_nothing_is_imported_that_is_not_called(entries: dict[str, str]) -> None:
    entries["elsewhere"] = "nothing"
    assert run("parrots", "feed").exit_code == 0
    assert run("check", "none.toml").stderr.startswith("none.toml")
