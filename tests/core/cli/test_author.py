from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from core.cli.command import make_cli
from core.testing import UpstreamAnswer
from tests.core.test_captured import HEAD, write

PIPELINES = """\
[pipelines.p]
paths = ["/v1"]
plugins = ["anthropic", "models"]
[models]
"m" = { backend = "b" }
[backends.b]
plugins = ["vllm"]
url = "http://up.invalid"
"""
ASK = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
WIRE = UpstreamAnswer(text="Hello.", choice={"stop_reason": None}).wire(stream=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a pipelines.toml, a request and an answer; sys.path is given back."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIPELINES_TOML", raising=False)
    (tmp_path / "pipelines.toml").write_text(PIPELINES)
    (tmp_path / "request.json").write_text(json.dumps(ASK))
    (tmp_path / "answer.sse").write_bytes(WIRE)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(make_cli(), arguments)


def test_schema_prints_json() -> None:
    result = run("schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_plugins_lists_them() -> None:
    result = run("plugins")
    assert result.exit_code == 0
    assert "\nvllm  backend of hookline " in result.stdout
    assert "\ncapture  wrapper of hookline " in result.stdout


def test_new_plugin_writes_a_package_once(folder: Path) -> None:
    result = run("new-plugin", "bird")
    assert result.exit_code == 0
    assert result.stdout.startswith("hookline-bird is written; try: cd hookline-bird && ")
    assert (folder / "hookline-bird" / "pyproject.toml").exists()
    again = run("new-plugin", "bird")
    assert (again.exit_code, again.stderr) == (1, "hookline-bird exists; name another: --directory DIR\n")
    assert run("new-plugin", "bird", "--directory", "elsewhere").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["request.json"],
        ["pipelines.toml", "--request", "request.json"],
        ["request.json", "--config", "pipelines.toml", "--pipeline", "p", "--cut", "7", "--full"],
    ],
)
def test_trace_shows_each_stage(arguments: list[str]) -> None:
    result = run("trace", *arguments, "--upstream", "answer.sse")
    assert result.exit_code == 0, result.output
    stages = [line.split()[0] for line in result.stdout.splitlines()]
    wanted = [
        "parse",
        "route",
        "call_upstream",
        "sent",
        "read",
        "chunk",
        "translate_content",
        "translate_stop",
        "client",
    ]
    positions = [stages.index(stage, stages.index("call_upstream") if "translate" in stage else 0) for stage in wanted]
    assert positions == sorted(positions)
    assert ("…" not in result.stdout) == ("--full" in arguments)


def test_trace_takes_a_captured_exchange_and_another_request(folder: Path) -> None:
    call = [{"sent": "{}"}, {"answered": 200, "headers": {}}, {"read": WIRE.decode()}, {"ended": ""}]
    write(folder, {**HEAD, "body": json.dumps({**ASK, "stream": True})}, *call)
    assert "event: message_stop" in run("trace", "exchange.jsonl", "--full").stdout
    other = run("trace", "exchange.jsonl", "--request", "request.json", "--full")
    assert "event: message_stop" not in other.stdout
    assert '"text":"Hello."' in other.stdout


def test_an_upstream_that_refuses_ends_with_status_1(folder: Path) -> None:
    (folder / "answer.json").write_text('{"error": {"message": "busy"}}')
    result = run("trace", "request.json", "--upstream", "answer.json", "--status", "429")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].split()[:2] == ["client", "429,"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.json"], "none.json: cannot be read: No such file or directory"),
        (["pipelines.toml"], "a pipelines.toml alone is no request: name one with --request"),
        (["request.json", "--config", "none.toml"], "none.toml: no such file; "),
        (["request.json", "--pipeline", "q"], "no pipeline 'q'; here: p"),
    ],
)
def test_what_cannot_be_traced_is_one_line_and_status_1(arguments: list[str], text: str) -> None:
    result = run("trace", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(text)
    assert result.stderr.count("\n") == 1
