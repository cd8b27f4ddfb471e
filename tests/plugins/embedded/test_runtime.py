import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from plugins.embedded import engine, runtime
from plugins.embedded.engine import Options
from plugins.embedded.runtime import join, private_directory

OPTIONS = Options("/m.gguf", 1024, 1, 1, "none")

FAKE = """
import socket, sys
print("the fake engine speaks", flush=True)
listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    connection, _ = listener.accept()
    try:
        connection.sendall(b"hello\\n")
        if connection.recv(1) == b"":
            break
    except OSError:
        break
"""


@pytest.fixture
def _fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    monkeypatch.setattr(engine, "__file__", str(script))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(10)
    return process.pid


@pytest.mark.usefixtures("_fake_engine")
def test_the_first_starts_it_and_the_second_finds_it(directory: Path) -> None:
    first = join(OPTIONS, os.getpid(), directory)
    second = join(OPTIONS, os.getpid(), directory)
    assert first.process is not None
    assert (second.process, second.log, second.said()) == (None, None, "")
    assert len(list(directory.glob("*.sock"))) == 1
    first.connection.settimeout(10)
    assert first.connection.recv(10) == b"hello\n"
    first.connection.shutdown(socket.SHUT_WR)
    assert first.process.wait(10) == 0
    assert first.said() == "the fake engine speaks"
    second.close()
    first.close()


@pytest.mark.usefixtures("_fake_engine")
def test_other_options_are_another_engine(directory: Path) -> None:
    joined = [join(options, os.getpid(), directory) for options in (OPTIONS, Options("/n.gguf", 1024, 1, 1, "none"))]
    assert len(list(directory.glob("*.sock"))) == 2
    for one in joined:
        one.close()
        assert one.process is not None
        assert one.process.wait(10) == 0


@pytest.mark.usefixtures("_fake_engine")
def test_the_socket_of_a_killed_engine_is_taken_over(directory: Path) -> None:
    first = join(OPTIONS, os.getpid(), directory)
    assert first.process is not None
    first.process.kill()
    first.process.wait(10)
    first.close()
    second = join(OPTIONS, os.getpid(), directory)
    assert second.process is not None
    second.close()
    assert second.process.wait(10) == 0


@pytest.mark.usefixtures("_fake_engine")
def test_sockets_of_gateways_that_are_gone_are_swept(directory: Path) -> None:
    for name in (f"{dead_process()}-abc.sock", f"{os.getpid()}-abc.sock", "other.sock"):
        (directory / name).touch()
    joined = join(OPTIONS, os.getpid(), directory)
    left = {path.name for path in directory.glob("*-abc.sock")}
    assert left == {f"{os.getpid()}-abc.sock"}
    assert (directory / "other.sock").exists()
    joined.close()
    assert joined.process is not None
    joined.process.wait(10)


def test_the_directory_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = private_directory()
    assert path.parent == tmp_path
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert private_directory() == path


def test_a_directory_that_others_can_enter_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all, fallback = tmp_path / "x", tmp_path / "y"
    for base in (open_to_all, fallback):
        base.mkdir()
    (open_to_all / f"hookline-{os.getuid()}").mkdir()
    (open_to_all / f"hookline-{os.getuid()}").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(open_to_all))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(fallback))
    assert private_directory().parent == fallback
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(open_to_all))
    with pytest.raises(PermissionError, match="mode 700"):
        private_directory()


def test_without_a_runtime_directory_it_is_in_the_one_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert private_directory().parent == tmp_path


def test_by_default_the_private_directory_is_used(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "private_directory", lambda: directory)
    monkeypatch.setattr(runtime, "_start", lambda _options, _master, path: path)
    assert str(join(OPTIONS, 5)).startswith(str(directory / "5-"))
