from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from core.cli import command as cli
from core.guards import WANTED
from core.serve.settings import ServerError, ServerOptions
from core.told import Told
from tests.core.samples import BACKEND, PIPELINE, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a sound pipelines.toml; sys.path is given back."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIPELINES_TOML", raising=False)
    return write(tmp_path, PIPELINE + BACKEND).parent


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, ServerOptions]]:
    """What `serve` would run, instead of a server."""
    calls: list[tuple[Path, ServerOptions]] = []

    def serve_file(file: Path, options: ServerOptions, on_ready: Callable[[tuple[str, ...], Told], None]) -> None:
        calls.append((file, options))
        on_ready(options.bind, Told("/x/pipelines.toml", ("model-one", "model-*"), "/v1", "model-one", key=False))

    monkeypatch.setattr(cli, "serve_file", serve_file)
    return calls


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.make_cli(), arguments)


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"hookline {version('hookline')}\n")


@pytest.mark.parametrize("command", [[], ["serve"], ["check"]])
def test_the_help_is_whole_and_says_what_to_write(command: list[str]) -> None:
    text = run(*command, "--help").stdout
    assert not re.search(r"\w\.\.\.$|list\[|range>", text, re.MULTILINE)
    for option, metavar in re.findall(r"--(bind|workers|backlog|keep-alive) (\S+)", text):
        assert metavar in {"HOST:PORT", "N", "SECONDS"}, option


def test_check_prints_the_pipelines() -> None:
    result = run("check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("pipeline main at /v1\n")
    assert "main with backend one" in result.stdout


@pytest.mark.parametrize("command", [["check"], ["check", "other.toml"]])
def test_a_wrong_file_is_one_line_and_status_1(folder: Path, command: list[str]) -> None:
    for name in ("pipelines.toml", "other.toml"):
        (folder / name).write_text(PIPELINE + BACKEND + "ulr = 3")
    result = run(*command)
    name = "other.toml" if "other.toml" in command else "pipelines.toml"
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"{name}: [backends.one] key 'ulr': unknown key; did you mean 'url'?\n"


def test_pipelines_toml_names_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES_TOML", str(folder / "none.toml"))
    assert run("check").stderr.startswith(f"{folder / 'none.toml'}: no such file; ")
    assert run("check", "pipelines.toml").exit_code == 0


def test_plugins_beside_the_user_are_found(folder: Path) -> None:
    (folder / "beside_the_user.py").write_text("from tests.core.samples import Engine")
    write(folder, PIPELINE + BACKEND.replace("tests.core.samples", "beside_the_user"))
    assert run("check").exit_code == 0


def test_serve_greets_and_runs(served: list[tuple[Path, ServerOptions]]) -> None:
    result = run("serve")
    assert result.exit_code == 0
    first, second, third = result.stdout.splitlines()
    assert first == f"hookline {version('hookline')} serves pipelines.toml on 127.0.0.1:8080"
    assert second == "models: model-one, model-*"
    assert third.startswith("try: curl http://127.0.0.1:8080/v1/messages -H ")
    assert '"model": "model-one"' in third
    assert served == [(Path("pipelines.toml"), ServerOptions())]


def test_serve_takes_its_options(served: list[tuple[Path, ServerOptions]]) -> None:
    arguments = "--bind 127.0.0.1:1 --bind [::1]:2 --bind 127.0.0.1:1 --workers 3 --worker-class asyncio"
    more = "--backlog 5 --keep-alive 2.5 pipelines.toml"
    assert run("serve", *arguments.split(), *more.split()).exit_code == 0
    options = ServerOptions(("127.0.0.1:1", "[::1]:2"), 3, "asyncio", 5, 2.5)
    assert served == [(Path("pipelines.toml"), options)]


def test_a_server_that_cannot_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: Path, options: ServerOptions, on_ready: Callable[[tuple[str, ...], Told], None]) -> None:
        raise ServerError("cannot listen")

    monkeypatch.setattr(cli, "serve_file", refuse)
    result = run("serve")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "cannot listen\n")


def test_main_runs_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["hookline", "--version"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert (caught.value.code, capsys.readouterr().out) == (0, f"hookline {version('hookline')}\n")


def test_serve_lets_the_workers_know_that_other_machines_reach_them(
    served: list[tuple[Path, ServerOptions]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WANTED, "from before")
    for more, wanted in ((["--without-keys"], None), ([], "0.0.0.0:8080")):
        assert run("serve", "--bind", "0.0.0.0:8080", *more).exit_code == 0
        assert os.environ.get(WANTED) == wanted
    assert run("serve").exit_code == 0
    assert os.environ.get(WANTED) is None
    assert len(served) == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("ulr = 3", "pipelines.toml: [backends.one] key 'ulr': unknown key; did you mean 'url'?\n"),
        ("", "--bind 0.0.0.0:0 is open to other machines, and pipeline 'main' asks for no keys; list the plugin"),
    ],
)
def test_what_cannot_be_served_is_one_line_and_status_1(folder: Path, more: str, said: str) -> None:
    """Of a real worker, which reads the file."""
    write(folder, PIPELINE + BACKEND + more)
    command = [sys.executable, "-c", "from core.cli import main; main()", "serve", "--bind", "0.0.0.0:0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1
