from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.config_file import ConfigFile
from core.errors import ConfigError
from core.guards import WANTED
from core.last_good import LastGood
from tests.core.samples import BACKEND, PIPELINE, write

SERVED = PIPELINE + BACKEND
OTHER = SERVED.replace("/v1", "/v2")
WRONG = SERVED + "ulr = 3"
STANDS_IN = "the last good configuration is served"


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


@pytest.fixture
def last() -> Iterator[LastGood]:
    made = LastGood.make()
    made.keep(SERVED.encode())
    yield made
    os.close(made.number)


@pytest.mark.parametrize("text", [WRONG, "half a [", None])
def test_what_was_served_last_stands_in_for_a_wrong_file_until_that_is_right(
    path: Path, last: LastGood, text: str | None
) -> None:
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    file = ConfigFile(path, {}, last)
    with pytest.raises(ConfigError) as caught:
        ConfigFile(path, {}).load()
    for _ in range(3):  # whoever dies once more is replaced once more
        with capture_logs() as logs:
            loaded = file.begin()
        assert loaded.pipelines[0].paths == ("/v1",)
        (line,) = logs
        assert line["worker"] == os.getpid()
        assert (line["event"], line["file"], line["why"]) == (STANDS_IN, str(path), str(caught.value))
    assert looks(file) == [False] * 3
    path.write_text(OTHER)
    assert looks(file) == [False, True, False]
    assert file.load(loaded).pipelines[0].paths == ("/v2",)


def test_once_the_file_is_as_it_was_there_is_nothing_to_load(path: Path, last: LastGood) -> None:
    path.write_text(WRONG)
    file = ConfigFile(path, {}, last)
    file.begin()
    path.write_text(SERVED)
    assert looks(file) == [False] * 3


def test_a_right_file_is_what_begins(path: Path, last: LastGood) -> None:
    path.write_text(OTHER)
    file = ConfigFile(path, {}, last)
    with capture_logs() as logs:
        assert file.begin().pipelines[0].paths == ("/v2",)
    assert not logs
    assert last.text == SERVED.encode()
    file.keep()
    assert last.text == OTHER.encode()


def test_one_that_did_not_come_to_serve_is_tried_every_other_time(path: Path, last: LastGood) -> None:
    path.write_text(OTHER)
    found: list[str] = []
    with capture_logs() as logs:
        for _ in range(4):
            found += ConfigFile(path, {}, last).begin().pipelines[0].paths
    assert found == ["/v2", "/v1", "/v2", "/v1"]
    assert [line["why"] for line in logs] == ["a worker began with the file and did not come to serve"] * 2


def test_the_one_that_serves_may_fail_to_begin_as_often_as_it_likes(path: Path, last: LastGood) -> None:
    with capture_logs() as logs:
        for _ in range(3):
            ConfigFile(path, {}, last).begin()
    assert not logs


def test_where_neither_can_be_served_the_file_s_own_fault_is_told(path: Path, last: LastGood) -> None:
    path.write_text(WRONG)
    last.keep(b"half a [")
    with pytest.raises(ConfigError, match="ulr"):
        ConfigFile(path, {}, last).begin()


def test_at_the_start_of_the_server_there_is_none(path: Path) -> None:
    last = LastGood.make()
    path.write_text(WRONG)
    with pytest.raises(ConfigError, match="ulr"):
        ConfigFile(path, {}, last).begin()
    os.close(last.number)


def test_what_was_refused_is_not_kept(path: Path, last: LastGood) -> None:
    path.write_text(OTHER)
    file = ConfigFile(path, {}, last)
    file.load()
    file.refuse()
    file.keep()
    assert last.text == SERVED.encode()


def test_the_last_good_one_opens_no_door_either(path: Path, last: LastGood) -> None:
    path.write_text(WRONG)
    with pytest.raises(ConfigError, match="ulr"):
        ConfigFile(path, {WANTED: "1"}, last).begin()
