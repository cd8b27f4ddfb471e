"""docs/reliability.md cannot go stale: each promise names tests that exist, each test of faults is named, limits are true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import attrs
import pytest

from core.config import BackendConfig, ServerConfig

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
NODE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PROMISES = [line for line in PAGE.splitlines() if line.startswith("| ") and "::" in line]
NO_PROMISES = {"test_the_names_differ"}


def functions(path: Path) -> set[str]:
    """The names of a file's functions."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, kinds)}


@pytest.mark.parametrize("line", PROMISES, ids=lambda line: line[2:60])
def test_a_promise_names_tests_that_exist(line: str) -> None:
    named = NODE.findall(line.split("|")[-2])
    assert named
    for path, name in named:
        assert name in functions(ROOT / path), f"{path} has no {name}"


def test_each_row_has_its_test() -> None:
    tables = re.findall(r"^\|.*\| test \|\n\| --- .*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert len(tables) == 6
    assert [row for table in tables for row in table.splitlines()] == PROMISES


def test_each_test_of_faults_holds_a_promise() -> None:
    named = set(NODE.findall(PAGE))
    for path in (ROOT / "tests" / "faults").glob("test_*.py"):
        tests = {name for name in functions(path) if name.startswith("test_")} - NO_PROMISES
        assert tests <= {name for file, name in named if file == str(path.relative_to(ROOT))}


def test_the_limits_are_those_of_the_configuration() -> None:
    told = dict(re.findall(r"^\|[^|]*\| `(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE))
    configs: tuple[type[attrs.AttrsInstance], ...] = (BackendConfig, ServerConfig)
    fields = [field for config in configs for field in attrs.fields(config)]
    limits = {field.name: field.default for field in fields if isinstance(field.default, int | float)}
    assert {name: float(value) for name, value in told.items()} == limits
