"""Hypercorn with our defaults: the settings of `hookline serve`, a look at its ports beforehand, and the run."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

import attrs
from hypercorn.config import Config as ServerConfig
from hypercorn.run import run

WorkerClass = Literal["uvloop", "asyncio"]


class ServerError(Exception):
    """The server cannot start; the text is one line for the user."""


@attrs.frozen
class ServerOptions:
    """How to serve; times in seconds. A bind is HOST:PORT, [IPv6]:PORT, unix:PATH or fd://NUMBER."""

    bind: tuple[str, ...] = ("127.0.0.1:8080",)
    workers: int = 1
    worker_class: WorkerClass = "uvloop"
    graceful_timeout: float = 30.0
    backlog: int = 1024
    keep_alive: float = 75.0


def default_worker_class() -> WorkerClass:
    """uvloop where it is installed."""
    return "uvloop" if importlib.util.find_spec("uvloop") else "asyncio"


def serve_file(config: Path, options: ServerOptions) -> int:
    """Serve the pipelines.toml until a signal ends it; the exit status. The workers find the file by PIPELINES_TOML."""
    os.environ["PIPELINES_TOML"] = str(config.resolve())
    settings = ServerConfig()
    settings.application_path = "core.app:app"
    settings.bind = list(options.bind)
    settings.workers = options.workers
    settings.worker_class = options.worker_class
    settings.graceful_timeout = options.graceful_timeout
    settings.backlog = options.backlog
    settings.keep_alive_timeout = options.keep_alive
    with _Asked() as asked:
        status = run(settings)
    # Hypercorn ends, with status 0, when a worker dies; a supervisor must see that it was not asked to.
    if status or asked.to_end:
        return status
    raise ServerError("a worker process ended by itself, and the server with it; its log has the details")


class _Asked:
    """Notes the signals that reach this process while Hypercorn's own handlers are at work."""

    to_end = False
    """Whether a signal asked the server to end; known once this is left."""

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._before)
        with self._writer, self._reader, suppress(BlockingIOError):
            self.to_end = bool({signal.SIGINT, signal.SIGTERM} & set(self._reader.recv(4096)))


def check_binds(binds: tuple[str, ...]) -> None:
    """Try every address once, so that one in use is one line and no traceback. Raises ServerError."""
    for bind in binds:
        if bind.startswith(("unix:", "fd://")):
            continue
        host, port = _split(bind)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                hint = "choose another: hookline serve --bind HOST:PORT, or make serve BIND=HOST:PORT"
                raise ServerError(f"cannot listen on {bind}: {why}; {hint}") from error


def curl_of(bind: str, path: str, model: str) -> str:
    """A command that asks the model something through the server at `bind`."""
    if bind.startswith("unix:"):
        where = f"--unix-socket {bind.removeprefix('unix:')} http://localhost"
    else:
        host, port = _split(bind)
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  no bind, a look-up
        where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    question = [{"role": "user", "content": "Why is the sky blue?"}]
    body = json.dumps({"model": model, "max_tokens": 1024, "messages": question}).replace("'", "'\\''")
    return f"curl {where}{path}/messages -H 'content-type: application/json' -d '{body}'"


def _split(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ServerError(f"--bind {bind!r} is not HOST:PORT, [IPv6]:PORT, unix:PATH or fd://NUMBER")
    return host.strip("[]"), int(port)
