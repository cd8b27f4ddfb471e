from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from core.cli.command import make_cli
from plugins.keys.book import Book
from plugins.keys.key_file import KeyFile
from plugins.keys.ledger import Batch, Counts
from plugins.keys.token import Token, hash_of
from tests.plugins.keys.samples import names

FRONT = '[pipelines.{name}]\npaths = ["/{name}"]\nplugins = ["anthropic", "models"{more}]\n'
REST = '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIPELINES_TOML", raising=False)
    configure(tmp_path)
    return tmp_path


def configure(folder: Path, table: str = "", more: str = ', "keys"') -> None:
    (folder / "pipelines.toml").write_text(FRONT.format(name="a", more=more) + table + REST)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(make_cli(), ["keys", *arguments])


def add(*arguments: str) -> Token:
    result = run("add", *arguments)
    assert result.exit_code == 0, result.stderr
    return Token.of(result.stdout.strip().encode())


def test_add_prints_the_key_alone_and_keeps_its_hash(folder: Path) -> None:
    result = run("add", "ci")
    token = Token.of(result.stdout.removesuffix("\n").encode())
    assert result.stderr == "key 'ci' is in keys.json; it is shown this once:\n"
    (key,) = KeyFile(folder / "keys.json").read()
    assert (key.id, key.name, key.sha256) == (token.id, "ci", hash_of(token.secret))
    assert key.given == {}
    assert key.created is not None


def test_add_takes_all_limits(folder: Path) -> None:
    limits = "--model a --model b-* --requests-per-minute 1 --tokens-per-minute 2 --max-concurrent 0"
    add("ci", *limits.split(), "--budget-tokens", "4", "--budget-period", "total", "--expires", "2099-01-31")
    (key,) = KeyFile(folder / "keys.json").read()
    assert key.given == {
        "models": ("a", "b-*"),
        "requests_per_minute": 1,
        "tokens_per_minute": 2,
        "max_concurrent": 0,
        "budget_tokens": 4,
        "budget_period": "total",
    }
    assert key.expires is not None
    assert key.expires.isoformat() == "2099-01-31T00:00:00+00:00"


def test_expires_from_now(folder: Path) -> None:
    add("ci", "--expires", "7d")
    (key,) = KeyFile(folder / "keys.json").read()
    assert key.expires is not None
    assert key.created is not None
    assert (key.expires - key.created).total_seconds() == 7 * 86400


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two words"], "'name' is needed"),
        (
            ["ci", "--expires", "soon"],
            "'soon' is no date such as 2027-01-31 and no time from now such as 90m, 24h, 7d or 2w (min",
        ),
        (["ci", "--expires", "3M"], "7d or 2w (minutes, hours, days, weeks)"),
        (["ci", "--expires", "2001-01-31"], "'2001-01-31' is over already"),
        (["ci", "--file", "none/k.json"], "none/k.json cannot be written: no such file or directory"),
        (["ci", "--config", "none.toml"], "none.toml: no such file"),
    ],
)
def test_what_cannot_be_made_is_one_line(folder: Path, arguments: list[str], said: str) -> None:
    result = run("add", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder / "keys.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget-tokens", str(10**15 + 1)], "'budget_tokens' is a whole number from 0 to"),
        (["--budget-tokens", str(2**64)], "'budget_tokens' is a whole number from 0 to"),
        (["--model", ""], "'models' is a list of models' names or globs, none of them empty"),
        (["--model", "a", "--model", "\udcff"], "'models' is a list"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(folder: Path, arguments: list[str], said: str) -> None:
    add("first")
    before = (folder / "keys.json").read_bytes()
    result = run("add", "ci", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(said)
    assert len(result.stderr.splitlines()) == 1
    assert (folder / "keys.json").read_bytes() == before


def test_a_name_is_free_again_once_its_key_is_revoked(folder: Path) -> None:
    first = add("ci")
    result = run("add", "ci")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "there is a key 'ci' already; revoke it, or choose another name\n"
    assert run("revoke", "ci").stdout == f"revoked: ci ({first.id})\n"
    second = add("ci")
    assert run("revoke", second.id).exit_code == 0
    again = run("revoke", "ci")
    assert (again.exit_code, again.stderr) == (1, "the key 'ci' is revoked already\n")
    nobody = run("revoke", "nobody")
    assert (nobody.exit_code, nobody.stderr) == (1, "no key 'nobody'; these are there: ci, ci\n")
    assert names(KeyFile(folder / "keys.json").read()) == ["ci", "ci"]


def test_list_shows_no_secret(folder: Path) -> None:
    token = add("ci", "--requests-per-minute", "5")
    for result in (run("list"), run("list", "--json")):
        assert token.id in result.stdout
        assert token.secret.decode() not in result.stdout
        assert hash_of(token.secret) not in result.stdout
    (value,) = json.loads(run("list", "--json").stdout)
    assert (value["name"], value["state"], value["requests_per_minute"]) == ("ci", "in use", 5)


def test_usage_reads_the_file_of_the_workers(folder: Path) -> None:
    one, two = add("one", "--budget-tokens", "100", "--budget-period", "total"), add("two")
    book = Book(folder / "usage.sqlite3")
    batch = Batch()
    batch.add(one.id, time.time(), 5, Counts(3, 1, 20, 22))
    book.write(batch, "w", 0, 5)
    book.close()
    lines = run("usage").stdout.splitlines()
    assert lines[1].split() == ["one", one.id, "3", "1", "20", "22", "42", "of", "100", "(total)"]
    assert lines[2].split()[:3] == ["two", two.id, "0"]
    (value,) = json.loads(run("usage", "one", "--since", "2w", "--json").stdout)
    assert (value["requests"], value["budget_spent"]) == (3, 42)
    wrong = run("usage", "--since", "long")
    assert wrong.exit_code == 1
    assert wrong.stderr == "'long' is no length of time such as 90m, 24h, 7d or 2w (minutes, hours, days, weeks)\n"


def test_the_files_are_those_of_pipelines_toml(folder: Path) -> None:
    configure(folder, '[keys]\nfile = "k/own.json"\nrequests_per_minute = 7\n')
    (folder / "k").mkdir()
    add("ci")
    assert names(KeyFile(folder / "k" / "own.json").read()) == ["ci"]
    assert "7 requests/min" in run("list").stdout


def test_without_the_plugin_the_first_key_can_be_made_all_the_same(folder: Path) -> None:
    configure(folder, more="")
    result = run("add", "ci")
    assert result.exit_code == 0
    assert "no pipeline lists the plugin 'keys' yet" in result.stderr
    assert names(KeyFile(folder / "keys.json").read()) == ["ci"]


def test_a_file_alone_needs_no_pipelines_toml(folder: Path) -> None:
    (folder / "pipelines.toml").unlink()
    add("ci", "--file", "other.json")
    assert "ci" in run("list", "--file", "other.json").stdout
    assert run("list").stderr.startswith("pipelines.toml: no such file")


def test_of_several_files_one_must_be_named(folder: Path) -> None:
    table = FRONT.format(name="b", more=', "keys"') + '[pipelines.b.keys]\nfile = "b.json"\n'
    configure(folder, table)
    result = run("add", "ci")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "pipelines.toml: several files of keys; name one of its own with --file\n"
    add("ci", "--config", "pipelines.toml", "--file", "b.json")
    assert names(KeyFile(folder / "b.json").read()) == ["ci"]
    assert run("list", "--config", "pipelines.toml", "--file", "c.json").exit_code == 1


def test_a_broken_file_is_one_line(folder: Path) -> None:
    (folder / "keys.json").write_text("{")
    (folder / "keys.json").chmod(0o600)
    for arguments in (["list"], ["add", "x"], ["revoke", "x"], ["usage"]):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith("keys.json is no JSON")
    assert (folder / "keys.json").read_text() == "{"
