"""The environment that all tests here share: it takes a minute to make."""

from __future__ import annotations

import sys
import venv

import pytest

from tests.packaging.fresh import EXAMPLE, Installed, copy_tree, need_index, run


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("packaging")
    need_index(base)
    tree = copy_tree(base / "tree")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(base / "dist"), str(tree), cwd=base)
    (wheel,) = (base / "dist").iterdir()
    venv.create(base / "venv", symlinks=True)
    made = Installed(tree, wheel, base / "venv" / "bin")
    made.install(str(wheel), f"{tree / EXAMPLE}[test]", cwd=base)
    return made
