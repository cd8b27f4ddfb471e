from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from core.cli.scaffold import ScaffoldError, new_plugin
from core.contract import CONTRACT

FILES = {
    ".github/workflows/ci.yml",
    ".gitignore",
    "README.md",
    "pipelines.toml",
    "pyproject.toml",
    "src/hookline_my_engine/__init__.py",
    "src/hookline_my_engine/py.typed",
    "tests/test_my_engine.py",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return new_plugin("my-engine", tmp_path / "package")


def test_the_package_is_whole(package: Path) -> None:
    assert {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()} == FILES
    assert not [path for path in package.rglob("*") if path.is_file() and "$" in path.read_text().replace("${{", "")]


def test_its_names_fit_together(package: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["name"] == "hookline-my-engine"
    assert project["entry-points"]["hookline.plugins"] == {"my_engine": "hookline_my_engine:MyEngine"}
    code = (package / "src/hookline_my_engine/__init__.py").read_text()
    assert f"contract: ClassVar[int] = {CONTRACT}" in code
    assert {node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)} == {"MyEngine"}
    config = tomllib.loads((package / "pipelines.toml").read_text())
    assert config["backends"]["my_engine"]["plugins"] == ["my_engine"]
    assert "${{ matrix.python }}" in (package / ".github/workflows/ci.yml").read_text()


def test_it_says_where_hookline_is_to_come_from(package: Path) -> None:
    assert "pip install HOOKLINE '.[test]'" in (package / "README.md").read_text()
    workflow = (package / ".github/workflows/ci.yml").read_text()
    assert """run: pip install "${{ vars.HOOKLINE }}" '.[test]'""" in workflow
    assert workflow.index("if: ${{ !vars.HOOKLINE }}") < workflow.index("run: pip install")


def test_it_is_linted_and_formatted_as_written(package: Path) -> None:
    for command in (["check", "--select", "E,F,I"], ["format", "--check"]):
        done = run([sys.executable, "-m", "ruff", *command, str(package)], package)
        assert not done.returncode, done.stdout + done.stderr


def test_its_tests_pass(package: Path) -> None:
    path = os.pathsep.join([str(package / "src"), str(Path(__file__).parents[3])])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = run(command, package, PYTHONPATH=path)
    assert not done.returncode, done.stdout + done.stderr
    assert re.search(r"^\d{2,} passed", done.stdout, re.MULTILINE), done.stdout


def run(command: list[str], place: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environ}
    return subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)


def test_the_directory_is_named_after_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert new_plugin("bird") == Path("hookline-bird")
    assert (tmp_path / "hookline-bird" / "pyproject.toml").exists()


@pytest.mark.parametrize("name", ["", "Bird", "2birds", "bird!", "../bird", "bird_", "a" * 41, "bird engine", "vögel"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ScaffoldError, match="is no plugin's name; write lower-case letters"):
        new_plugin(name, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("class", "'class' is a word of Python's own; choose another"),
        ("json", "'json' is a word of Python's own; choose another"),
        ("vllm", "a plugin 'vllm' is installed already; choose another name"),
    ],
)
def test_a_name_that_is_taken_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ScaffoldError) as caught:
        new_plugin(name, tmp_path / "x")
    assert str(caught.value) == text


def test_a_directory_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="exists; name another: --directory DIR"):
        new_plugin("bird", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ScaffoldError, match=r"cannot be written: Not a directory$"):
        new_plugin("bird", tmp_path / "file" / "x")


@pytest.mark.parametrize("name", ["none", "true", "call", "content", "engine_facts", "upstream-answer"])
def test_a_class_hides_nothing_that_the_files_use(tmp_path: Path, name: str) -> None:
    package = new_plugin(name, tmp_path / "package")
    (code,) = package.glob("src/*/__init__.py")
    (test,) = package.glob("tests/*.py")
    trees = [ast.parse(file.read_text()) for file in (code, test)]
    (made,) = (node.name for node in trees[0].body if isinstance(node, ast.ClassDef))
    imported = {
        alias.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("hookline_")
        for alias in node.names
    }
    assert made.endswith("Backend")
    assert made not in imported


@pytest.mark.parametrize("name", ["pytest", "pipelines", "backends", "url", "stream", "max-stops", "paths"])
def test_a_name_with_another_meaning_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ScaffoldError, match=r"is a key of pipelines\.toml, or of hookline itself; choose another"):
        new_plugin(name, tmp_path / "package")


def test_half_a_package_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def full(self: Path, text: str, encoding: str) -> int:
        if self.name == "README.md":
            raise OSError(28, "No space left on device")
        return write(self, text, encoding)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ScaffoldError, match="cannot be written: No space left on device"):
        new_plugin("mine", tmp_path / "package")
    assert list(tmp_path.iterdir()) == []
