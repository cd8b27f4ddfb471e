"""A package that `hookline new-plugin` writes: installed, its tests run, a request served with it."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from core.contract import CONTRACT
from core.testing import MockUpstream, UpstreamAnswer, fold
from tests.packaging.fresh import Installed, run, serving

pytestmark = pytest.mark.packaging
ANSWER = UpstreamAnswer(
    text="1, 2, 3, 4, ", reasoning="Count.", reasoning_fields=("thoughts",), choice={"stop_reason": "5"}
)
ASK = {
    "model": "wren",
    "max_tokens": 64,
    "stop_sequences": ["5"],
    "stream": True,
    "messages": [{"role": "user", "content": "Count to ten."}],
}


@pytest.fixture(scope="module")
def package(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, written and installed by the wheel's own command."""
    place = tmp_path_factory.mktemp("scaffold")
    said = installed.run("hookline", "new-plugin", "wren", cwd=place)
    assert said.startswith("hookline-wren is written; try: ")
    installed.install(f"{place / 'hookline-wren'}[test]", cwd=place)
    return place / "hookline-wren"


def test_its_own_tests_pass(installed: Installed, package: Path) -> None:
    said = installed.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=package)
    assert re.search(r"^\d{2,} passed", said, re.MULTILINE), said


def test_it_is_listed_beside_ours(installed: Installed, package: Path) -> None:
    said = installed.run("hookline", "plugins", cwd=package)
    assert f"\nwren  backend of hookline-wren 0.1.0, contract {CONTRACT}\n" in said
    assert '  option   reasoning_field: string = "reasoning_content"  # where reasoning is\n' in said
    assert f"\nvllm  backend of hookline {version('hookline')}, contract {CONTRACT}\n" in said
    assert '"reasoning_field"' in installed.run("hookline", "schema", cwd=package)


def test_its_pipelines_toml_serves_a_request(installed: Installed, package: Path) -> None:
    installed.run("hookline", "check", cwd=package)
    config = package / "pipelines.toml"
    with MockUpstream(ANSWER).in_thread() as engine:
        text = (
            config.read_text().replace("http://127.0.0.1:8000/v1", engine.url).replace("reasoning_content", "thoughts")
        )
        (package / "served").mkdir()
        (package / "served" / "pipelines.toml").write_text(text)
        with serving(installed, package / "served") as url:
            answer = httpx.post(f"{url}/v1/messages", json=ASK, timeout=30)
    message = fold(answer.content).message
    assert [block[block["type"]] for block in message["content"]] == ["Count.", "1, 2, 3, 4, "]
    assert message["stop_sequence"] == "5"
    assert engine.exchanges[0].json["stop"] == ["5"]


def test_a_second_one_of_that_name_is_refused(installed: Installed, package: Path) -> None:
    with pytest.raises(AssertionError, match="a plugin 'wren' is installed already; choose another name"):
        run(installed.bin / "hookline", "new-plugin", "wren", cwd=package)
