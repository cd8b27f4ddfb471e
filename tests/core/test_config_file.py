from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.config_file import ConfigFile
from core.errors import ConfigError
from core.guards import WANTED
from tests.core.samples import BACKEND, PIPELINE, write

SERVED = PIPELINE + BACKEND
OTHER = SERVED.replace("/v1", "/v2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path, SERVED)


@pytest.fixture
def file(path: Path) -> ConfigFile:
    made = ConfigFile(path, {})
    made.load()
    return made


def looks(file: ConfigFile, times: int = 3) -> list[bool]:
    return [file.changed() for _ in range(times)]


def touch(path: Path) -> None:
    written = path.stat().st_mtime_ns + 1
    os.utime(path, ns=(written, written))


def test_a_file_that_stays_has_not_changed(file: ConfigFile) -> None:
    assert looks(file) == [False] * 3


def test_a_change_is_told_once_when_two_looks_agree(file: ConfigFile, path: Path) -> None:
    path.write_text(OTHER)
    assert looks(file) == [False, True, False]
    assert file.load().pipelines[0].paths == ("/v2",)
    assert looks(file) == [False] * 3


def test_a_change_of_the_same_size_at_the_same_time_is_one(file: ConfigFile, path: Path) -> None:
    status = path.stat()
    path.write_text(OTHER)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert looks(file) == [False, True, False]


def test_a_file_that_is_being_written_is_waited_for(file: ConfigFile, path: Path) -> None:
    for end in (10, 20, 30):
        path.write_text(OTHER[:end])
        assert not file.changed()
    path.write_text(OTHER)
    assert looks(file) == [False, True, False]


def test_a_touch_alone_and_a_change_taken_back_are_none(file: ConfigFile, path: Path) -> None:
    touch(path)
    assert looks(file) == [False] * 3
    path.write_text(OTHER)
    assert not file.changed()
    path.write_text(SERVED)
    assert looks(file) == [False] * 3


def test_a_file_put_in_its_place_is_found(file: ConfigFile, path: Path) -> None:
    new = path.with_name("new")
    new.write_text(OTHER)
    path.unlink()
    assert not file.changed()
    new.rename(path)
    assert looks(file) == [False, True, False]


def test_one_that_is_gone_for_a_moment_is_no_change_and_one_that_stays_away_is_told_once(
    file: ConfigFile, path: Path
) -> None:
    path.unlink()
    assert not file.changed()
    path.write_text(SERVED)
    assert looks(file) == [False] * 3
    path.unlink()
    assert looks(file) == [False, True, False]
    with pytest.raises(ConfigError, match="no such file"):
        file.load()
    assert looks(file) == [False] * 3
    path.write_text(SERVED)
    assert looks(file) == [False, True, False]  # the operator sees that all is well again


def test_a_wrong_one_is_tried_again_when_it_is_touched(file: ConfigFile, path: Path) -> None:
    path.write_text(SERVED + "ulr = 3")
    assert looks(file) == [False, True, False]
    with pytest.raises(ConfigError, match="ulr"):
        file.load()
    assert looks(file) == [False] * 3
    touch(path)
    assert looks(file) == [False, True, False]


def test_one_that_was_refused_afterwards_is_too(file: ConfigFile, path: Path) -> None:
    path.write_text(OTHER)
    file.load()
    file.refuse()
    assert looks(file) == [False] * 3
    touch(path)
    assert looks(file) == [False, True, False]


def test_parts_that_stay_are_kept(file: ConfigFile, path: Path) -> None:
    before = file.load()
    path.write_text(OTHER)
    assert file.load(before).clients == before.clients
    assert file.load().clients != before.clients


def test_a_pipe_is_read_once_only(tmp_path: Path) -> None:
    read, written = os.pipe()
    os.write(written, SERVED.encode())
    os.close(written)
    file = ConfigFile(Path(f"/dev/fd/{read}"), {})
    file.load()
    assert looks(file) == [False] * 3
    os.close(read)


def test_where_keys_are_wanted_a_file_without_them_is_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="is open to other machines, and pipeline"):
        ConfigFile(path, {WANTED: "1"}).load()
