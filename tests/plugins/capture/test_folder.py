from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from plugins.capture.folder import Folder


def test_files_are_appended_to_and_only_the_users_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a" / "b", 3)
    assert folder.begin("1.jsonl", b"x")
    assert folder.append("1.jsonl", b"y")
    file = folder.path / "1.jsonl"
    assert file.read_bytes() == b"xy"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_the_oldest_go_first_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "0.txt").touch()
    folder = Folder(tmp_path, 2)
    for number in (1, 2, 3, 4):
        folder.begin(f"{number}.jsonl", b"x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.txt", "3.jsonl", "4.jsonl"]


def test_a_file_that_made_room_does_not_come_back_in_part(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 1)
    folder.begin("1.jsonl", b"head")
    folder.begin("2.jsonl", b"head")
    with capture_logs() as logs:
        assert not folder.append("1.jsonl", b"rest")
    assert ([file.name for file in tmp_path.iterdir()], logs) == (["2.jsonl"], [])


def test_a_directory_that_cannot_be_written_is_a_line_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with capture_logs() as logs:
        assert not Folder(tmp_path / "file", 2).begin("1.jsonl", b"x")
    assert [line["event"] for line in logs] == ["an exchange cannot be written"]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path, 9)
    folder.begin("1.jsonl", b"whole\n")
    write = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) < 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:3])

    monkeypatch.setattr(os, "write", full)
    with capture_logs() as logs:
        assert not folder.append("1.jsonl", b"more\n")
        assert not folder.begin("2.jsonl", b"head\n")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"1.jsonl": b"whole\n"}
    assert [line["why"] for line in logs] == ["No space left on device"] * 2


def test_what_cannot_be_written_is_seen_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert Folder(tmp_path / "a" / "b", 1).refusal() == ""
    assert Folder(tmp_path / "file" / "b", 1).refusal() == f"{tmp_path / 'file'} is no directory"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert Folder(tmp_path / "a", 1).refusal() == f"{tmp_path} cannot be written"
