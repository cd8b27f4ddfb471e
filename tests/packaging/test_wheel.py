"""The built wheel beside a third party's backend in a fresh environment: what users install is what works."""

from __future__ import annotations

import re
import shutil
import zipfile
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from core.testing import Folded, MockUpstream, UpstreamAnswer, fold, fold_json
from tests.packaging.fresh import EXAMPLE, Installed, serving

pytestmark = pytest.mark.packaging

SERVER_URL = "http://127.0.0.1:9000/v1"
ANSWER = UpstreamAnswer(
    text="1, 2, 3, 4, ",
    reasoning="Count, and stop before five.",
    reasoning_fields=("thoughts",),
    choice={"halted_by": "5"},
)
ASK = {
    "model": "polly",
    "max_tokens": 64,
    "stop_sequences": ["5"],
    "messages": [{"role": "user", "content": "Count to ten."}],
}


@pytest.fixture
def place(installed: Installed, tmp_path: Path) -> Path:
    """A directory with nothing in it but the example's pipelines.toml."""
    shutil.copy(installed.tree / EXAMPLE / "pipelines.toml", tmp_path)
    return tmp_path


def test_the_wheel_holds_the_code_alone(installed: Installed) -> None:
    info = f"hookline-{version('hookline')}.dist-info"
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {"core", "plugins", "hookline_pytest.py", info}
    tracked = {path.relative_to(installed.tree).as_posix() for path in installed.tree.rglob("*.py")}
    code = {name for name in names if name.endswith(".py")}
    assert code == {path for path in tracked if path.startswith(("core/", "plugins/", "hookline_pytest.py"))}
    assert not [name for name in names if "test_" in name or name.endswith((".pyc", ".md"))]
    assert f"{info}/licenses/LICENSE" in names
    templates = {path.name for path in (installed.tree / "core/cli/templates").iterdir()}
    assert {f"core/cli/templates/{name}" for name in templates} <= set(names)


def test_the_command_is_there(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("hookline", "--version", cwd=tmp_path) == f"hookline {version('hookline')}\n"


def test_check_shows_the_example_at_work(installed: Installed, place: Path) -> None:
    lines = [line.split() for line in installed.run("hookline", "check", cwd=place).splitlines()]
    assert ["pipeline", "messages", "at", "/v1"] in lines
    for hook in ("call_upstream", "translate_content", "translate_stop"):
        assert [hook, "parrot", "-"] in lines


def test_a_request_goes_through_the_example(installed: Installed, place: Path) -> None:
    with MockUpstream(ANSWER).in_thread() as parrot:
        config = place / "pipelines.toml"
        text = config.read_text()
        assert SERVER_URL in text
        config.write_text(text.replace(SERVER_URL, parrot.url))
        with serving(installed, place) as url:
            streamed = httpx.post(f"{url}/v1/messages", json={**ASK, "stream": True}, timeout=30)
            whole = httpx.post(f"{url}/v1/messages", json=ASK, timeout=30)
    assert (streamed.status_code, whole.status_code) == (200, 200)
    expect(fold(streamed.content))
    expect(fold_json(whole.content))
    for exchange in parrot.exchanges:
        sent = exchange.json
        assert (sent["model"], sent["stop"], sent["voice"]) == ("parrot-1", ["5"], "macaw")
    assert [exchange.json["stream"] for exchange in parrot.exchanges] == [True, False]


def test_the_examples_own_tests_pass(installed: Installed) -> None:
    said = installed.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=installed.tree / EXAMPLE)
    assert re.search(r"^\d+ passed", said, re.MULTILINE), said


def expect(folded: Folded) -> None:
    message = folded.message
    assert [(block["type"], block[block["type"]]) for block in message["content"]] == [
        ("thinking", "Count, and stop before five."),
        ("text", "1, 2, 3, 4, "),
    ]
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "5")
    assert message["model"] == "polly"
    assert message["usage"] == {"input_tokens": 11, "output_tokens": 7}
