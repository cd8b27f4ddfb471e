"""`hookline serve` between the command and the server: the file, the doors, the run."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path

from core.log import configure_logs
from core.serve.master import Master
from core.serve.settings import ServerError, ServerOptions, WorkerClass
from core.serve.sockets import Doors, host_port, open_doors


def default_worker_class() -> WorkerClass:
    """uvloop where it is installed."""
    return "uvloop" if importlib.util.find_spec("uvloop") else "asyncio"


def serve_file(config: Path, options: ServerOptions, on_ready: Callable[[tuple[str, ...]], None]) -> None:
    """Serve the pipelines.toml until a signal ends it. The workers find the file by PIPELINES_TOML.

    `on_ready` gets the addresses once all workers serve. Raises ServerError.
    """
    if not hasattr(os, "fork"):
        raise ServerError("hookline serve needs a POSIX system; here, run: hypercorn core.app:app")
    doors = open_doors(options.bind, options.stall)
    os.environ["PIPELINES_TOML"] = str(config.resolve())
    configure_logs()
    Master(options, doors, lambda: on_ready(_names(options.bind, doors))).run()


def curl_of(bind: str, path: str, model: str) -> str:
    """A command that asks the model something through the server at `bind`."""
    if bind.startswith("unix:"):
        where = f"--unix-socket {bind.removeprefix('unix:')} http://localhost"
    else:
        host, port = host_port(bind)
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  no bind, a look-up
        where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    question = [{"role": "user", "content": "Why is the sky blue?"}]
    body = json.dumps({"model": model, "max_tokens": 1024, "messages": question}).replace("'", "'\\''")
    return f"curl {where}{path}/messages -H 'content-type: application/json' -d '{body}'"


def _names(binds: tuple[str, ...], doors: Doors) -> tuple[str, ...]:
    """The binds as the user wrote them, but with the port that the system chose, or what is behind fd://NUMBER."""
    pairs = zip(binds, doors.addresses, strict=True)
    return tuple(real if bind.endswith(":0") or bind.startswith("fd://") else bind for bind, real in pairs)
