from __future__ import annotations

import errno
import io
import subprocess
import sys
from pathlib import Path

import pytest

from core.cli.output import given_up, written
from tests.core.samples import write

HOOKLINE = str(Path(sys.executable).with_name("hookline"))
DEMO = '[pipelines.m]\npaths = ["/v1"]\nplugins = ["anthropic", "models", "access_log"]\n[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'
REQUEST = '{"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}'
FULL = "standard output cannot be written: no space left on device\n"
CLOSED = "standard output is closed; send it to a file or to /dev/null\n"


def shell(folder: Path, command: str) -> tuple[int, str]:
    """The exit status and the standard error of a line of shell, in which $0 is hookline."""
    write(folder, DEMO)
    (folder / "request.json").write_text(REQUEST)
    ended = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command, HOOKLINE],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("command", ["serve --bind 127.0.0.1:0", "check", "trace request.json"])
def test_no_room_is_one_line(tmp_path: Path, command: str) -> None:
    assert shell(tmp_path, f"$0 {command} > /dev/full") == (1, FULL)


@pytest.mark.parametrize("command", ["serve --bind 127.0.0.1:0", "check"])
def test_none_at_all_is_one_line(tmp_path: Path, command: str) -> None:
    assert shell(tmp_path, f"$0 {command} >&-") == (1, CLOSED)


@pytest.mark.parametrize("command", ["trace request.json", "schema", "--help"])
def test_a_reader_that_goes_ends_it_quietly(tmp_path: Path, command: str) -> None:
    assert shell(tmp_path, f"$0 {command} | exec true") == (1, "")
    assert shell(tmp_path, f"$0 {command} | head -1 > /dev/null")[1] == ""


def test_a_server_that_nobody_hears_says_so(tmp_path: Path) -> None:
    assert shell(tmp_path, "$0 serve --bind 127.0.0.1:0 | exec true") == (
        1,
        "standard output cannot be written: broken pipe\n",
    )


def test_what_is_no_matter_of_output_is_raised() -> None:
    with pytest.raises(FileNotFoundError), written():
        raise FileNotFoundError(errno.ENOENT, "no such file")


def test_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with pytest.raises(SystemExit, match="cannot be written: full"), written():
        raise OSError(errno.ENOSPC, "Full")
    assert given_up(OSError("odd")).endswith(": odd")
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit, match="is closed"), written():
        pytest.fail("it ran")
