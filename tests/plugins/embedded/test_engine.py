import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from plugins.embedded import engine
from plugins.embedded.engine import STAY, Keeper, Options, alive
from tests.server.processes import TINY

OPTIONS = Options(TINY, 1024, 1, 1, "deepseek")


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        yield listening


@pytest.fixture
def connect(listener: socket.socket) -> Iterator[Callable[[], socket.socket]]:
    made: list[socket.socket] = []

    def connect() -> socket.socket:
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].settimeout(10)
        made[-1].connect(listener.getsockname())
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def keeping(listener: socket.socket, master: int = 0) -> threading.Thread:
    """A keeper at work."""

    def keep() -> None:
        with closing(Keeper(listener, {"port": 5}, master or os.getpid())) as keeper:
            keeper.run()

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    return thread


def test_each_connection_is_greeted_and_the_last_ends_it(
    listener: socket.socket, connect: Callable[[], socket.socket]
) -> None:
    thread = keeping(listener)
    first, second = connect(), connect()
    assert json.loads(first.recv(100)) == json.loads(second.recv(100)) == {"port": 5}
    first.shutdown(socket.SHUT_WR)
    assert first.recv(100) == STAY
    assert first.recv(100) == b""
    assert thread.is_alive()
    second.close()
    thread.join(10)
    assert not thread.is_alive()


def test_one_that_waits_to_be_accepted_counts(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    connect().close()
    connection = connect()
    thread = keeping(listener)
    assert json.loads(connection.recv(100)) == {"port": 5}
    connection.shutdown(socket.SHUT_WR)
    thread.join(10)
    assert not thread.is_alive()


def test_it_does_not_wait_for_ever_for_its_first_connection(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "FIRST", 0.0)
    monkeypatch.setattr(engine, "LOOK", 0.01)
    thread = keeping(listener)
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("reported", [True, False])
def test_it_ends_with_its_master(
    listener: socket.socket,
    connect: Callable[[], socket.socket],
    monkeypatch: pytest.MonkeyPatch,
    reported: bool,
) -> None:
    if not reported:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
        monkeypatch.setattr(engine, "LOOK", 0.01)
    master = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert master.stdin is not None
    thread = keeping(listener, master.pid)
    assert connect().recv(100)
    assert thread.is_alive()
    master.stdin.close()
    master.wait(10)
    thread.join(10)
    assert not thread.is_alive()


def test_a_master_that_is_gone_already(listener: socket.socket) -> None:
    master = subprocess.Popen([sys.executable, "-c", ""])
    master.wait(10)
    assert not alive(master.pid)
    thread = keeping(listener, master.pid)
    thread.join(10)
    assert not thread.is_alive()


def test_another_s_process_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert alive(1)


def test_options_are_the_same_text_each_time() -> None:
    assert OPTIONS.dumps() == Options(TINY, 1024, 1, 1, "deepseek").dumps()
    assert Options(**json.loads(OPTIONS.dumps())) == OPTIONS


def run_engine(listener: socket.socket, options: dict[str, Any], log: Path) -> subprocess.Popen[bytes]:
    """The engine as a process of its own."""
    handle = listener.fileno()
    command = [sys.executable, "-P", engine.__file__, str(handle), str(os.getpid()), json.dumps(options)]
    with log.open("w+b") as out:
        return subprocess.Popen(command, pass_fds=[handle], stdout=out, stderr=out)


@pytest.mark.engine
def test_the_process(listener: socket.socket, connect: Callable[[], socket.socket], tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    connection = connect()
    process = run_engine(listener, json.loads(OPTIONS.dumps()), tmp_path / "log")
    port = json.loads(connection.recv(1000))["port"]
    with closing(socket.create_connection(("127.0.0.1", port), 10)) as http:
        http.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert http.recv(1000).startswith(b"HTTP/1.1 200")
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(100) == b""
    assert process.wait(10) in {0, -signal.SIGALRM}  # the kernel ends one that is slow to stop
    assert not Path(listener.getsockname()).exists()
    assert (tmp_path / "log").read_bytes() == b""


@pytest.mark.engine
def test_a_process_that_cannot_serve_says_why(
    listener: socket.socket, connect: Callable[[], socket.socket], tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp")
    connection = connect()
    options = json.loads(OPTIONS.dumps()) | {"model": str(tmp_path / "none.gguf")}
    process = run_engine(listener, options, tmp_path / "log")
    assert "failed to load model" in json.loads(connection.recv(5000))["error"]
    connection.close()
    assert process.wait(10) in {0, -signal.SIGALRM}  # the kernel ends one that is slow to stop
