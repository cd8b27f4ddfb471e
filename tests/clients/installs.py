"""Clients that are installed for the tests alone, each once, below pytest's cache directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest

Prepare = Callable[[Path], None]
LIMIT = 300
"""Seconds for one installation."""


@attrs.frozen
class Installs:
    """Installations below `root`, a directory that outlives the run."""

    root: Path

    def pip(self, name: str, *requirements: str) -> Path:
        """A directory for PYTHONPATH with these packages, without what they depend on. Skips where pip cannot."""
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", ".", *requirements]
        return self._once(name, command, lambda _: None)

    def npm(self, name: str, *arguments: str, prepare: Prepare) -> Path:
        """A directory with `node_modules` in it; `prepare` lays the package files. Skips where npm cannot."""
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            pytest.skip("node and npm are not installed")
        return self._once(name, [npm, *arguments, "--no-audit", "--no-fund", "--logs-max=0"], prepare)

    def _once(self, name: str, command: Sequence[str], prepare: Prepare) -> Path:
        target = self.root / name
        if target.exists():
            return target
        # Made beside its place and moved there whole, so that a run that was killed leaves no half of it.
        made = Path(tempfile.mkdtemp(dir=self.root, prefix=f"{name}-"))
        try:
            prepare(made)
            _run(name, command, made)
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return target


def _run(name: str, command: Sequence[str], where: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=where,
            env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{name} cannot be installed: no end after {LIMIT} s")
    assert "EUSAGE" not in done.stderr, f"package.json and its lock file differ:\n{done.stderr}"
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        pytest.skip(f"{name} cannot be installed: {said[-1]}")
