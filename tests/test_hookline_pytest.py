"""The pytest plugin gives a marked function its rules, and costs other test runs nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
AUTHORS: Final = """
import pytest
from core.testing import EngineFacts

@pytest.mark.hookline_backend("vllm", engine=EngineFacts(reasoning_field="reasoning", stop_field="stop_reason"))
def test_vllm(hookline_rule):
    hookline_rule()

@pytest.mark.hookline_backend("openai", engine=EngineFacts(reasoning_field="thoughts"))
def test_wrong(hookline_rule):
    hookline_rule()

def test_no_rule():
    pass
"""


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    installed = [entry.name for entry in entry_points(group="pytest11") if entry.value == "hookline_pytest"]
    plugin = [] if installed else ["-p", "hookline_pytest"]
    command = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", "--strict-markers", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_each_rule_is_a_test_and_a_failure_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(AUTHORS)
    done = run("-k", "reasoning-comes-first or no_rule", "-v", folder=tmp_path)
    assert "test_vllm[reasoning-comes-first-and-apart] PASSED" in done.stdout
    assert "test_wrong[reasoning-comes-first-and-apart] FAILED" in done.stdout
    assert "test_no_rule PASSED" in done.stdout
    assert "But client stream, upstream stream: the reasoning is ''" in done.stdout


def test_the_marker_is_known(tmp_path: Path) -> None:
    assert "@pytest.mark.hookline_backend(backend, *wrappers" in run("--markers", folder=tmp_path).stdout


def test_the_plugin_imports_nothing_of_hookline() -> None:
    code = (
        "import sys, hookline_pytest; print([name for name in sys.modules if name.split('.')[0] in ('core', 'attrs')])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
