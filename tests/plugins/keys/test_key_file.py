from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from plugins.keys.entry import Key
from plugins.keys.key_file import KeyFile, KeyFileError
from tests.plugins.keys.samples import made, names, written


def test_what_was_written_is_read_and_has_no_secret_in_it(tmp_path: Path) -> None:
    key, token = made(models=("a",))
    file = written(tmp_path / "keys.json", key)
    assert file.read() == (key,)
    assert token.secret not in file.path.read_bytes()
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.with_name("keys.json.lock").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys.json", "keys.json.lock"]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path / "keys.json", made()[0])
    file.path.chmod(mode)
    with pytest.raises(KeyFileError, match="may be written by others; run: chmod 600"):
        file.read()


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "keys.json", made()[0])
    owner = file.path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner:
        with pytest.raises(KeyFileError, match="belongs to another user"):
            file.read()
    else:
        assert len(file.read()) == 1  # root's is everybody's


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "is no file of keys"),
        ('{"keys": []}', "is no file of keys"),
        ('{"format": 2, "keys": []}', "is no file of keys"),
        ('{"format": 1, "keys": {}}', "is no file of keys"),
        ('{"format": 1, "keys": [3]}', r"keys\[0\]: is no object"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match=said) as caught:
        KeyFile(path).read()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(KeyFileError, match="pipe is no regular file"):
        KeyFile(tmp_path / "pipe").read()
    with pytest.raises(KeyFileError, match="cannot be read: is a directory"):
        KeyFile(tmp_path).read()
    with pytest.raises(KeyFileError, match="null is no regular file"):
        KeyFile(Path("/dev/null")).read()


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="no such file or directory; make the first key: hookline keys add NAME"):
        KeyFile(tmp_path / "none").read()
    with pytest.raises(KeyFileError, match="is a directory"):
        KeyFile(tmp_path).read()


def test_ids_and_names_in_use_are_there_once(tmp_path: Path) -> None:
    key, _ = made("a")
    other, _ = made("a")
    with pytest.raises(KeyFileError, match="is there twice"):
        written(tmp_path / "one", key, key).read()
    with pytest.raises(KeyFileError, match="two keys are called 'a'"):
        written(tmp_path / "two", key, other).read()


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path / "keys.json", made("a")[0])
    before = file.path.read_bytes()

    def fails(_: tuple[Key, ...]) -> tuple[Key, ...]:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        file.change(fails)
    file.path.chmod(0o666)
    with pytest.raises(KeyFileError, match="may be written by others"):
        file.change(lambda keys: keys)
    assert file.path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "keys.json", made("a")[0])
    before = file.path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError, match="cannot be written: no space left on device"):
        file.change(lambda _: ())
    assert file.path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_many_writers_at_once_lose_nobodys_key(tmp_path: Path) -> None:
    file = written(tmp_path / "keys.json")

    def add(number: int) -> None:
        KeyFile(file.path).change(lambda keys: (*keys, made(f"k{number}")[0]))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names(file.read())) == sorted(f"k{number}" for number in range(12))


def test_a_link_stays_one_and_its_target_is_changed(tmp_path: Path) -> None:
    target = written(tmp_path / "real.json", made("a")[0])
    link = tmp_path / "keys.json"
    link.symlink_to(target.path)
    KeyFile(link).change(lambda keys: (*keys, made("b")[0]))
    assert link.is_symlink()
    assert names(target.read()) == names(KeyFile(link).read()) == ["a", "b"]


def test_a_look_sees_another_content_and_another_mode(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    states = {file.look()}
    file.change(lambda _: (made("a")[0],))
    states.add(file.look())
    file.change(lambda _: (made("b")[0],))
    states.add(file.look())
    file.path.chmod(0o400)
    states.add(file.look())
    assert len(states) == 4
    assert file.look() in states


def test_the_mode_of_a_file_is_kept_but_for_writers(tmp_path: Path) -> None:
    file = written(tmp_path / "keys.json", made()[0])
    file.path.chmod(0o640)
    file.change(lambda keys: keys)
    assert file.path.stat().st_mode & 0o777 == 0o640


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keys.json.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFileError, match="cannot be written"):
        written(tmp_path / "keys.json", made()[0])
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    file = written(tmp_path / "keys.json", made()[0])
    os.chown(file.path, 12345, 12345)
    with pytest.raises(KeyFileError, match="belongs to another user"):
        file.read()
    os.chown(file.path, 0, 12345)
    file.change(lambda keys: keys)
    assert file.path.stat().st_gid == 12345


def test_the_file_is_json_that_people_can_read(tmp_path: Path) -> None:
    file = written(tmp_path / "keys.json", made("a", budget_tokens=5)[0])
    (entry,) = json.loads(file.path.read_text())["keys"]
    assert (entry["name"], entry["budget_tokens"]) == ("a", 5)
    assert '\n    {\n      "id": ' in file.path.read_text()
