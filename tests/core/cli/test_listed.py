from __future__ import annotations

from pathlib import Path

import pytest

from core.cli.listed import listed
from core.errors import ConfigError
from tests.core.samples import BACKEND, PIPELINE, Front, write


def test_listed_makes_the_plugins_and_checks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PIPELINES_TOML", raising=False)
    table = '[pipelines.main."tests.core.samples:Front"]\nbackends = ["nobody"]\n'
    write(tmp_path, PIPELINE + table + BACKEND)
    config, (front,) = listed(Front)
    assert (config.file, front.backends) == ("pipelines.toml", ("nobody",))
    assert listed(Path) == (config, [])
    write(tmp_path, "broken")
    with pytest.raises(ConfigError, match=r"pipelines\.toml"):
        listed(Front)
