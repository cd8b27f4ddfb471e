from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
from structlog.testing import capture_logs

from core.cli import server
from core.cli.server import curl_of, default_worker_class, serve_file, want_keys
from core.guards import WANTED
from core.last_good import LastGood
from core.serve.settings import ServerError, ServerOptions
from core.serve.sockets import Doors
from core.told import Told

TOLD: Final = Told("p.toml", ("m",), "/v1", "m", key=False)


class Stub:
    """Stands in for the master: it is ready at once, and then over."""

    ran: ClassVar[list[ServerOptions]] = []

    def __init__(self, options: ServerOptions, doors: Doors, on_ready: Callable[[Any], None]) -> None:
        self.options, self.doors, self.on_ready = options, doors, on_ready

    def run(self) -> None:
        self.ran.append(self.options)
        self.on_ready(TOLD)
        self.doors.close()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stub, "ran", [])


def test_serve_file_runs_a_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "Master", Stub)
    monkeypatch.setattr(server, "configure_logs", lambda: None)
    monkeypatch.setenv("PIPELINES_TOML", "other.toml")
    monkeypatch.chdir(tmp_path)
    told: list[Any] = []
    options = ServerOptions(("127.0.0.1:0", "unix:s", "localhost:0"))
    serve_file(Path("p.toml"), options, lambda *words: told.append(words))
    assert os.environ["PIPELINES_TOML"] == str(tmp_path / "p.toml")
    (((one, two, three), about),) = told
    assert about == TOLD
    assert one.startswith("127.0.0.1:")
    assert not one.endswith(":0")
    assert two == "unix:s"
    assert three.startswith("127.0.0.1:")
    (ran,) = Stub.ran
    assert ran == options
    assert ran.last_good is not None
    os.close(ran.last_good.number)


def test_without_memory_for_it_no_configuration_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> LastGood:
        raise OSError("no memory")

    monkeypatch.setattr(LastGood, "make", none)
    monkeypatch.setattr(server, "Master", Stub)
    monkeypatch.setattr(server, "configure_logs", lambda: None)
    monkeypatch.setenv("PIPELINES_TOML", "")
    told: list[Any] = []
    with capture_logs() as logs:
        serve_file(Path("p.toml"), ServerOptions(("127.0.0.1:0",)), lambda *words: told.append(words))
    assert [line["why"] for line in logs] == ["no memory"]
    assert len(told) == 1


def test_not_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(ServerError, match="here, run: hypercorn "):
        serve_file(Path("p.toml"), ServerOptions(), lambda *_: None)


def test_uvloop_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert default_worker_class() == "asyncio"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "uvloop")
    assert default_worker_class() == "uvloop"


@pytest.mark.parametrize(
    ("bind", "where"),
    [
        ("127.0.0.1:8080", ["http://127.0.0.1:8080/v1/messages"]),
        ("0.0.0.0:80", ["http://127.0.0.1:80/v1/messages"]),
        (":80", ["http://127.0.0.1:80/v1/messages"]),
        ("[::]:80", ["http://[::1]:80/v1/messages"]),
        ("unix:/run/h", ["--unix-socket", "/run/h", "http://localhost/v1/messages"]),
    ],
)
def test_the_curl_is_a_command(bind: str, where: list[str]) -> None:
    words = shlex.split(curl_of(bind, "/v1", "it's"))
    assert words[: 1 + len(where)] == ["curl", *where]
    assert words[-1].startswith('{"model": "it\'s", "max_tokens": ')


def test_the_curl_has_a_place_for_a_key_where_one_is_wanted() -> None:
    words = shlex.split(curl_of("127.0.0.1:8080", "/v1", "m", key=True))
    assert words[words.index("x-api-key: $KEY") - 1] == "-H"
    assert "x-api-key" not in curl_of("127.0.0.1:8080", "/v1", "m")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WANTED, "")


@pytest.mark.parametrize("bind", ["0.0.0.0:80", ":80", "[::]:80", "[::ffff:10.0.0.1]:80", "192.0.2.1:80", "10.0.0.1:0"])
def test_where_other_machines_are_let_in_keys_are_wanted(bind: str) -> None:
    want_keys(("127.0.0.1:1", bind))
    assert os.environ[WANTED] == bind


@pytest.mark.parametrize(
    "bind", ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "localhost:80", "unix:/run/h", "127.1:80"]
)
def test_this_machine_is_no_other(bind: str) -> None:
    want_keys((bind,))
    assert not os.environ[WANTED]


@pytest.mark.parametrize(("host", "wanted"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_a_socket_that_was_handed_to_us_is_looked_at(host: str, wanted: bool) -> None:
    with socket.socket() as sock:
        sock.bind((host, 0))
        bind = f"fd://{sock.fileno()}"
        want_keys((bind,))
        assert os.environ[WANTED] == (bind if wanted else "")
        assert sock.getsockname()[0] == host  # still open


def test_sockets_that_are_none_and_those_of_this_machine_alone() -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        want_keys((f"fd://{sock.fileno()}", "fd://x", "fd://99999"))
    assert not os.environ[WANTED]


def test_a_name_that_is_none_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ServerError, match="cannot listen on nobody:80: no such address"):
        want_keys(("nobody:80",))
