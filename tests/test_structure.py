"""The house: which way imports run, how large the rooms are, and that each has its tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(path.relative_to(ROOT) for top in ("core", "plugins") for path in (ROOT / top).rglob("*.py"))
VALUES = {"core.errors", "core.deltas", "core.request", "core.route"}
PUBLIC = {"core", "core.chat", "core.testing"}


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def ours(path: Path) -> set[str]:
    """The project's modules that a file imports while it runs (not those for type checks alone)."""
    tree = ast.parse((ROOT / path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            real = {name for name in submodules if name in map(name_of, MODULES)}
            found |= real or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] in ("core", "plugins", "tests")}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_run_one_way(path: Path) -> None:
    name, used = name_of(path), ours(path)
    if name in VALUES:
        assert used <= VALUES
    if name.startswith("core"):
        assert not [module for module in used if module.startswith(("plugins", "tests"))]
    if name.startswith("core.chat") or name == "core.sse":
        allowed = VALUES | {"core.sse", "core.config", "core.estimate", "core.http1", "core.identity"}
        assert all(module in allowed or module.startswith(("core.chat", "core.http1")) for module in used), used
    if name.startswith("core.balance"):
        allowed = VALUES | {"core.config"}
        assert all(module in allowed or module.startswith("core.balance") for module in used), used
    if name.startswith("plugins"):
        own = ".".join(name.split(".")[:2])
        assert all(module in PUBLIC or module.startswith(own) for module in used), used - PUBLIC
    if name != "core.app":
        assert "core.asgi" not in used
        assert "core.app" not in used


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_rooms_are_small(path: Path) -> None:
    assert len((ROOT / path).read_text().splitlines()) <= 250


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=str)
def test_each_room_has_its_tests(path: Path) -> None:
    expected = ROOT / "tests" / path.parent / f"test_{path.name}"
    assert expected.exists(), f"{expected.relative_to(ROOT)} is missing"


def test_nothing_hides_at_the_top() -> None:
    kept = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert {"core", "plugins", "tests", "docs"} <= kept
