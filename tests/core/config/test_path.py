from __future__ import annotations

from pathlib import Path

from core.config.path import config_path


def test_config_path_is_what_the_environment_says() -> None:
    assert config_path({"PIPELINES_TOML": "/etc/p.toml"}) == Path("/etc/p.toml")
    assert config_path({}) == config_path({"PIPELINES_TOML": ""}) == Path("pipelines.toml")
