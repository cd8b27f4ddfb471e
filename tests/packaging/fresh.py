"""A fresh environment with hookline's wheel in it, and what is done there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = Path("docs/examples/hookline-parrot")
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "PIPELINES_TOML", "VIRTUAL_ENV")


@attrs.frozen
class Installed:
    """A fresh environment with hookline's wheel and the example in it; `tree` is the copy they were built from."""

    tree: Path
    wheel: Path
    bin: Path

    def install(self, *packages: str, cwd: Path) -> None:
        python = self.bin / "python"
        run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *packages, cwd=cwd)

    def run(self, command: str, *arguments: str, cwd: Path) -> str:
        return run(self.bin / command, *arguments, cwd=cwd)


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
