from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from core.errors import ConfigError
from core.guards import WANTED, check_guards, is_guarded, open_ones
from core.hookspecs import hookimpl
from core.loader import Loaded, load
from tests.core.samples import BACKEND, PIPELINE, config_of

HERE = "tests.core.test_guards"


class Guard:
    guards: ClassVar[bool] = True

    @hookimpl
    def lifespan(self) -> None:
        pass


def loaded(folder: Path, *plugins: str) -> Loaded:
    more = "".join(f', "{HERE}:{name}"' for name in plugins)
    return load(config_of(folder, PIPELINE.replace('Front"]', f'Front"{more}]') + BACKEND))


def test_a_plugin_says_that_it_guards(tmp_path: Path) -> None:
    assert [is_guarded(loaded(tmp_path, *names).pipelines[0]) for names in ((), ("Guard",))] == [False, True]
    assert open_ones(loaded(tmp_path).pipelines) == "'main'"
    assert open_ones(loaded(tmp_path, "Guard").pipelines) == ""


def test_keys_are_wanted_where_the_environment_says_so(tmp_path: Path) -> None:
    for environ in ({}, {WANTED: ""}):
        check_guards(loaded(tmp_path), environ)
    check_guards(loaded(tmp_path, "Guard"), {WANTED: "0.0.0.0:80"})
    with pytest.raises(
        ConfigError, match=r"--bind 0\.0\.0\.0:80 is open to other machines, and pipeline 'main' asks for no keys"
    ) as caught:
        check_guards(loaded(tmp_path), {WANTED: "0.0.0.0:80"})
    assert str(caught.value).startswith(f"{tmp_path / 'pipelines.toml'}: ")
    assert str(caught.value).endswith("bind to 127.0.0.1, or say --without-keys, too")
