from __future__ import annotations

import stat
from pathlib import Path

from structlog.testing import capture_logs

from plugins.capture.folder import Folder


def test_files_are_appended_to_and_only_the_users_own(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a" / "b", 3)
    folder.append("1.jsonl", b"x")
    folder.append("1.jsonl", b"y")
    file = folder.path / "1.jsonl"
    assert file.read_bytes() == b"xy"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_the_oldest_go_first_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "0.txt").touch()
    folder = Folder(tmp_path, 2)
    for number in (1, 2, 3, 3, 4):
        folder.append(f"{number}.jsonl", b"x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.txt", "3.jsonl", "4.jsonl"]


def test_a_directory_that_cannot_be_written_is_a_line_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with capture_logs() as logs:
        Folder(tmp_path / "file", 2).append("1.jsonl", b"x")
    assert [line["event"] for line in logs] == ["an exchange cannot be written"]
