"""The built wheel beside a third party's backend in a fresh environment: what users install is what works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import attrs
import httpx
import pytest

from core.testing import Folded, MockUpstream, UpstreamAnswer, fold, fold_json

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
EXAMPLE = Path("docs/examples/hookline-parrot")
SERVER_URL = "http://127.0.0.1:9000/v1"
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "PIPELINES_TOML", "VIRTUAL_ENV")
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


@attrs.frozen
class Installed:
    """A fresh environment with hookline's wheel and the example in it; `tree` is the copy they were built from."""

    tree: Path
    wheel: Path
    bin: Path

    def run(self, command: str, *arguments: str, cwd: Path) -> str:
        return run(self.bin / command, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("packaging")
    need_index(base)
    tree = copy_tree(base / "tree")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(base / "dist"), str(tree), cwd=base)
    (wheel,) = (base / "dist").iterdir()
    venv.create(base / "venv", symlinks=True)
    python = base / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    run(*pip, str(wheel), f"{tree / EXAMPLE}[test]", cwd=base)
    return Installed(tree, wheel, python.parent)


@pytest.fixture
def place(installed: Installed, tmp_path: Path) -> Path:
    """A directory with nothing in it but the example's pipelines.toml."""
    shutil.copy(installed.tree / EXAMPLE / "pipelines.toml", tmp_path)
    return tmp_path


def test_the_wheel_holds_the_code_alone(installed: Installed) -> None:
    info = f"hookline-{version('hookline')}.dist-info"
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {"core", "plugins", info}
    tracked = {path.relative_to(installed.tree).as_posix() for path in installed.tree.rglob("*.py")}
    code = {name for name in names if name.endswith(".py")}
    assert code == {path for path in tracked if path.startswith(("core/", "plugins/"))}
    assert not [name for name in names if "test_" in name or name.endswith((".pyc", ".md"))]
    assert f"{info}/licenses/LICENSE" in names


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


def need_index(base: Path) -> None:
    """Skip where nothing can be installed; any other fault is the packages' own and fails."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "hatchling", "--dest", "index"]
    found = subprocess.run(command, cwd=base, env=environment(), capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"no package index: {found.stderr.strip().splitlines()[-1]}")


def copy_tree(target: Path) -> Path:
    """What a commit of everything here would hold."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


@contextmanager
def serving(installed: Installed, place: Path) -> Iterator[str]:
    """`hypercorn core.app:app` on a free port; its address."""
    command = [str(installed.bin / "hypercorn"), "--bind", "127.0.0.1:0", "core.app:app"]
    with subprocess.Popen(
        command, cwd=place, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            yield address_in(server.stderr or ())
        finally:
            server.terminate()


def address_in(lines: Iterable[str]) -> str:
    """The address that the server says it runs on."""
    said = []
    for line in lines:
        said.append(line)
        if found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    pytest.fail(f"hypercorn ended: {''.join(said)}")


def run(*command: str | Path, cwd: Path) -> str:
    """The command's standard output; a command that fails fails the test with all it said."""
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    assert not done.returncode, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment() -> dict[str, str]:
    """Ours, without what would lead a fresh environment back to this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST"))}
    return {name: value for name, value in kept.items() if name not in HIDDEN}
