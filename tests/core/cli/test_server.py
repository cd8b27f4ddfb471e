import os
import shlex
import signal
import socket
from pathlib import Path

import pytest
from hypercorn.config import Config as ServerConfig

from core.cli import server
from core.cli.server import ServerError, ServerOptions, check_binds, curl_of, default_worker_class, serve_file


def test_serve_file_hands_hypercorn_our_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[ServerConfig] = []

    def run(settings: ServerConfig) -> int:
        ran.append(settings)
        return 3  # what Hypercorn says of itself is passed on

    monkeypatch.setattr(server, "run", run)
    monkeypatch.setenv("PIPELINES_TOML", "other.toml")
    monkeypatch.chdir(tmp_path)
    assert serve_file(Path("p.toml"), ServerOptions()) == 3
    assert os.environ["PIPELINES_TOML"] == str(tmp_path / "p.toml")
    (settings,) = ran
    assert (settings.application_path, settings.bind, settings.workers) == ("core.app:app", ["127.0.0.1:8080"], 1)
    assert (settings.worker_class, settings.backlog) == ("uvloop", 1024)
    assert (settings.graceful_timeout, settings.keep_alive_timeout) == (30.0, 75.0)


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM, None])
def test_a_server_that_ends_unasked_is_an_error(asked: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(settings: ServerConfig) -> int:
        if asked is not None:
            signal.raise_signal(asked)
        return 0

    monkeypatch.setattr(server, "run", run)
    monkeypatch.setenv("PIPELINES_TOML", "")
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if asked is None:
            with pytest.raises(ServerError, match="ended by itself"):
                serve_file(Path("p.toml"), ServerOptions())
        else:
            assert serve_file(Path("p.toml"), ServerOptions()) == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_uvloop_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert default_worker_class() == "asyncio"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "uvloop")
    assert default_worker_class() == "uvloop"


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError) as caught:
            check_binds((f"127.0.0.1:{port}",))
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{port}: address already in use; "
        "choose another: hookline serve --bind HOST:PORT, or make serve BIND=HOST:PORT"
    )


def test_free_ports_and_sockets_of_others_pass() -> None:
    check_binds(("127.0.0.1:0", "unix:/tmp/x", "fd://3"))


@pytest.mark.parametrize("bind", ["127.0.0.1", "localhost:", "host:http", "host:70000", "::1:80", ""])
def test_a_bind_of_no_known_form(bind: str) -> None:
    with pytest.raises(ServerError, match=r"is not HOST:PORT, \[IPv6\]:PORT, unix:PATH or fd://NUMBER"):
        check_binds((bind,))


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
