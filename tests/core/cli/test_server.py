from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from core.cli import server
from core.cli.server import curl_of, default_worker_class, serve_file
from core.serve.settings import ServerError, ServerOptions
from core.serve.sockets import Doors


class Stub:
    """Stands in for the master: it is ready at once, and then over."""

    def __init__(self, options: ServerOptions, doors: Doors, on_ready: Callable[[], None]) -> None:
        self.options, self.doors, self.on_ready = options, doors, on_ready

    def run(self) -> None:
        self.on_ready()
        self.doors.close()


def test_serve_file_runs_a_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "Master", Stub)
    monkeypatch.setattr(server, "configure_logs", lambda: None)
    monkeypatch.setenv("PIPELINES_TOML", "other.toml")
    monkeypatch.chdir(tmp_path)
    told: list[tuple[str, ...]] = []
    serve_file(Path("p.toml"), ServerOptions(("127.0.0.1:0", "unix:s", "localhost:0")), told.append)
    assert os.environ["PIPELINES_TOML"] == str(tmp_path / "p.toml")
    ((one, two, three),) = told
    assert one.startswith("127.0.0.1:")
    assert not one.endswith(":0")
    assert two == "unix:s"
    assert three.startswith("127.0.0.1:")


def test_not_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(ServerError, match="here, run: hypercorn "):
        serve_file(Path("p.toml"), ServerOptions(), lambda _: None)


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
