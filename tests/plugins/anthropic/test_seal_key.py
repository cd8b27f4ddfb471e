from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from plugins.anthropic import seal_key
from plugins.anthropic.seal_key import FILE, file_secret, find_key, key_of, machine_secret, state_folder


def test_a_key_has_32_bytes_whatever_the_secret() -> None:
    assert len(key_of("")) == len(key_of("é\ud800" * 99)) == 32
    assert key_of("a") != key_of("b")


def test_the_file_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    key = find_key({"XDG_STATE_HOME": str(tmp_path)})
    path = tmp_path / FILE
    assert path.stat().st_mode & 0o777 == 0o600
    assert key == find_key({"XDG_STATE_HOME": str(tmp_path)}) == key_of(path.read_text().strip())
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_of_many_makers_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "seal.key"
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(file_secret, [path] * 16))) == 1


def test_a_maker_that_comes_late_takes_the_winners(tmp_path: Path) -> None:
    path = tmp_path / "seal.key"
    path.write_text("w" * 64)
    with pytest.raises(FileExistsError):
        seal_key._make(path)
    assert file_secret(path) == "w" * 64
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_where_the_state_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert state_folder({"XDG_STATE_HOME": "/var/state"}) == Path("/var/state")
    for environ in ({}, {"XDG_STATE_HOME": ""}, {"XDG_STATE_HOME": "relative"}):
        assert state_folder(environ) == Path("/home/somebody/.local/state")


@pytest.mark.parametrize("obstacle", ["a file in the way", "a short file", "no text"])
def test_where_there_can_be_no_file_the_machine_stands_in(tmp_path: Path, obstacle: str) -> None:
    if obstacle == "a file in the way":
        (tmp_path / "hookline").write_text("")
    else:
        (tmp_path / "hookline").mkdir()
        (tmp_path / FILE).write_bytes(b"\xff" * 64 if obstacle == "no text" else b"short")
    with capture_logs() as log:
        key = find_key({"XDG_STATE_HOME": str(tmp_path)})
    assert key == key_of(machine_secret())
    (line,) = log
    assert (line["event"], line["log_level"]) == ("seal_key", "warning")
    assert machine_secret() not in str(line)


def test_no_home_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with capture_logs() as log:
        assert find_key({}) == key_of(machine_secret())
    assert len(log) == 1


def test_the_machine_is_the_same_each_time() -> None:
    assert machine_secret() == machine_secret() != ""
