"""docs/security.md and docs/deploy.md cannot go stale: each threat and each promise names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from core.config import ServerConfig

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "security.md", ROOT / "docs" / "deploy.md"]
NODE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
TABLE = re.compile(r"^\| (?:threat \| defence|promise) \| test \|\n\| --- .*\n((?:\|.*\n)+)", re.MULTILINE)
ROWS = [(page, row) for page in PAGES for table in TABLE.findall(page.read_text()) for row in table.splitlines()]
EXAMPLE = (ROOT / "docs" / "examples" / "haproxy.cfg").read_text()


def functions(path: Path) -> set[str]:
    """The names of a file's functions."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, kinds)}


@pytest.mark.parametrize(("page", "row"), ROWS, ids=[f"{page.stem}: {row[2:60]}" for page, row in ROWS])
def test_a_row_names_tests_that_exist(page: Path, row: str) -> None:
    cells = row.strip("|").split(" | ")
    assert len(cells) == (3 if page.stem == "security" else 2), "a bar in a cell"
    named = NODE.findall(cells[-1])
    assert named
    assert len(named) == cells[-1].count("::")
    for path, name in named:
        assert name in functions(ROOT / path), f"{path} has no {name}"


def test_each_row_is_in_a_table_that_is_read() -> None:
    assert len(TABLE.findall(PAGES[0].read_text())) == 7
    assert len(TABLE.findall(PAGES[1].read_text())) == 1
    assert len(ROWS) == sum(
        line.startswith("| ") and "::" in line for page in PAGES for line in page.read_text().splitlines()
    )


def test_each_test_of_the_door_and_of_the_edge_defends_something() -> None:
    pages = "".join(page.read_text() for page in PAGES)
    for folder, names in (("server", "test_door.py"), ("deploy", "test_*.py")):
        for path in (ROOT / "tests" / folder).glob(names):
            for name in functions(path):
                assert not name.startswith("test_") or f"{path.name}::{name}`" in pages, name


def test_the_limits_of_the_example_are_those_that_the_page_tells_and_longer_than_ours() -> None:
    told = re.findall(r"`timeout ([\w-]+)`(?:, `timeout ([\w-]+)`)? \| (\w+) \|", PAGES[1].read_text())
    for first, second, value in told:
        for name in filter(None, (first, second)):
            assert re.search(rf"^    timeout {name} {value}$", EXAMPLE, re.MULTILINE), name
    seconds = {"s": 1, "m": 60}
    found = dict(re.findall(r"^    timeout (\w+) (\w+)$", EXAMPLE, re.MULTILINE))
    limits = {name: int(value[:-1]) * seconds[value[-1]] for name, value in found.items()}
    assert limits["client"] > ServerConfig().client_timeout
    assert limits["server"] > 3600
