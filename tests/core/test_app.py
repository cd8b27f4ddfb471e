import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.asgi import ASGIApp
from core.last_good import WHERE, LastGood
from tests.core.samples import BACKEND, PIPELINE, write

FAULT = "[backends.one] key 'ulr': unknown key; did you mean 'url'?"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "core.app", raising=False)


def test_app_is_the_gateway_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, PIPELINE + BACKEND)
    monkeypatch.setenv("PIPELINES_TOML", str(path))
    app = importlib.import_module("core.app").app
    assert isinstance(app, ASGIApp)
    assert app.gateway.loaded.config.file == str(path)
    assert app._reloader is not None


def test_a_wrong_file_ends_the_import_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES_TOML", str(write(tmp_path, f"{PIPELINE}{BACKEND}ulr = 3")))
    with pytest.raises(SystemExit) as caught:
        importlib.import_module("core.app")
    assert caught.value.code == f"{tmp_path / 'pipelines.toml'}: {FAULT}"


def test_what_other_workers_served_last_stands_in_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINES_TOML", str(write(tmp_path, f"{PIPELINE}{BACKEND}ulr = 3")))
    monkeypatch.setenv(WHERE, "")
    last = LastGood.make()
    last.keep(f"{PIPELINE}{BACKEND}".encode())
    last.bequeath(os.environ)
    app = importlib.import_module("core.app").app
    assert app.gateway.loaded.pipelines[0].paths == ("/v1",)
    assert WHERE not in os.environ
    os.close(last.number)


def test_a_bare_hypercorn_prints_nothing_but_that_line(tmp_path: Path) -> None:
    path = write(tmp_path, f"{PIPELINE}{BACKEND}ulr = 3")
    command = [sys.executable, "-m", "hypercorn", "core.app:app", "--workers", "2", "--bind", "127.0.0.1:0"]
    environ = {**os.environ, "PIPELINES_TOML": str(path)}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout == ""
    assert set(result.stderr.splitlines()) == {f"{path}: {FAULT}"}


def test_a_plugins_directory_of_the_user_s_takes_the_place_of_none_of_ours(tmp_path: Path) -> None:
    front = '[pipelines.m]\npaths = ["/v1"]\nplugins = ["anthropic", "models"]\n'
    path = write(tmp_path, f'{front}[models]\n"m" = {{ backend = "d" }}\n[backends.d]\nplugins = ["demo"]\n')
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "__init__.py").write_text("raise SystemExit('taken')")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import core.app, plugins.models; print('ours')"
    command = [sys.executable, "-P", "-c", code, str(tmp_path)]
    environ = {**os.environ, "PIPELINES_TOML": str(path)}
    result = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert (result.stdout, result.stderr) == ("ours\n", "")
