from __future__ import annotations

import pickle
from pathlib import Path

from core.about import about, routes_of
from core.loader import load
from core.route import Candidate
from core.told import Told
from tests.core.samples import BACKEND, HERE, PIPELINE, config_of


def test_routes_are_asked_of_the_pipeline_and_globs_are_among_them(tmp_path: Path) -> None:
    models = '[models]\n"a" = { backend = "one" }\n"claude-*" = { backend = "one", model = "up" }\n'
    pipeline = PIPELINE.replace(f"{HERE}:Front", f'{HERE}:Front", "models')
    loaded = load(config_of(tmp_path, models + pipeline + BACKEND), {})
    assert routes_of(loaded.config, loaded.pipelines[0]) == {
        "model-one": (Candidate("one", "upstream"),),
        "a": (Candidate("one", "a"),),
        "claude-*": (Candidate("one", "up"),),
    }


def test_a_router_that_wants_more_shows_nothing(tmp_path: Path) -> None:
    loaded = load(config_of(tmp_path, f'["{HERE}:Front"]\nbackends = ["gone"]\n' + PIPELINE + BACKEND), {})
    assert list(routes_of(loaded.config, loaded.pipelines[0])) == ["model-gone"]


def test_what_is_told_of_it(tmp_path: Path) -> None:
    models = '[models]\n"claude-*" = { backend = "one", model = "up" }\n'
    pipeline = PIPELINE.replace(f"{HERE}:Front", f'{HERE}:Front", "models')
    told = about(load(config_of(tmp_path, models + pipeline + BACKEND), {}))
    assert told == Told(str(tmp_path / "pipelines.toml"), ("model-one", "claude-*"), "/v1", "model-one", key=False)
    assert pickle.loads(pickle.dumps(told)) == told
