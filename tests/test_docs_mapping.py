"""docs/mapping.md cannot go stale: each row names a test, each test of the mapping has a row, each backend its rows."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from tests.mapping.wire import BACKENDS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "mapping.md"
HOW = ("maps", "emulated", "dropped", "refused", "noted")
NODE = re.compile(r"`(tests/mapping/test_\w+\.py::test_\w+)`")
NOT_ENGINES = (
    "anthropic",
    "models",
    "keys",
    "access_log",
    "metrics",
    "tracing",
    "demo",
    "embedded",
    "think_tags",
    "stop_scan",
    "capture",
    "fetch_urls",
)


@attrs.frozen
class Row:
    """One row of a table whose last column names a test."""

    section: str
    cells: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.section}: {self.cells[0][:40]}"


def rows() -> Iterator[Row]:
    section, tested = "", False
    for line in PAGE.read_text().splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif not line.startswith("|"):
            tested = False
        elif line.endswith("| test |"):
            tested = True
        elif tested and not line.startswith("| ---"):
            yield Row(section, tuple(cell.strip() for cell in line[1:-1].split("|")))


def nodes() -> set[str]:
    """The tests of the mapping, found without running them."""
    found = set()
    for path in (ROOT / "tests" / "mapping").glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.add(f"tests/mapping/{path.name}::{node.name}")
    return found


ROWS = list(rows())
TESTS = nodes()


def test_the_page_has_its_rows() -> None:
    sections = list(dict.fromkeys(row.section for row in ROWS))
    assert len(sections) == 11
    assert len(ROWS) > 120


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_is_whole_and_names_a_test_that_exists(row: Row) -> None:
    assert len(row.cells) == 5
    assert all(row.cells[:2])
    assert row.cells[2] in HOW
    named = NODE.fullmatch(row.cells[4])
    assert named, f"{row.cells[4]} names no test"
    assert named[1] in TESTS


def test_each_test_of_the_mapping_is_named() -> None:
    assert set(NODE.findall(PAGE.read_text())) == TESTS


def test_each_backend_has_a_row_in_each_table_of_backends() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    engines = [name for name in project["entry-points"]["hookline.plugins"] if name not in NOT_ENGINES]
    assert sorted(engines) == sorted(BACKENDS)
    behind = PAGE.read_text().partition("\n## Backend by backend\n")[2]
    tables = [re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) for part in behind.split("\n### ")[1:]]
    assert tables == [list(BACKENDS)] * 4
