from __future__ import annotations

from pathlib import Path
from typing import Any

from core.loader import load
from core.loader.changes import changes
from tests.core.samples import BACKEND, HERE, PIPELINE, config_of

SECOND = f'[pipelines.second]\npaths = ["/v2"]\nplugins = ["{HERE}:Front"]\n'
TWO = f'[backends.two]\nplugins = ["{HERE}:Engine"]\n'


def found(folder: Path, before: str, after: str) -> dict[str, Any]:
    first = load(config_of(folder, before), {})
    return changes(first, load(config_of(folder, after), {}, first))


def test_nothing(tmp_path: Path) -> None:
    text = PIPELINE + BACKEND
    assert found(tmp_path, text, f"# a comment\n{text}") == {
        "backends": {"kept": ["one"]},
        "pipelines": {"kept": ["main"]},
    }


def test_what_became_of_each(tmp_path: Path) -> None:
    before = PIPELINE + SECOND + BACKEND + TWO
    after = PIPELINE + BACKEND + "read_timeout = 5\n" + TWO.replace("two", "three") + "[server]\nmax_body = 5\n"
    assert found(tmp_path, before, after) == {
        "backends": {"added": ["three"], "changed": ["one"], "removed": ["two"]},
        "pipelines": {"removed": ["second"], "kept": ["main"]},
        "server": ["max_body"],
    }


def test_a_pipeline_changes_with_its_plugins_options_and_with_its_own_table(tmp_path: Path) -> None:
    options = f'["{HERE}:Front"]\nbackends = ["one", "two"]\n'
    text = PIPELINE + BACKEND
    assert found(tmp_path, text, text + options)["pipelines"] == {"changed": ["main"]}
    assert found(tmp_path, text, text.replace("/v1", "/v3"))["pipelines"] == {"changed": ["main"]}


def test_values_are_never_in_it(tmp_path: Path) -> None:
    text = PIPELINE + BACKEND
    told = found(tmp_path, text + 'key = "hunter2"\n', text + 'key = "hunter3"\n')
    assert told["backends"] == {"changed": ["one"]}
    assert "hunter" not in repr(told)
