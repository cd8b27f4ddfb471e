"""`hookline serve` between the command and the server: the file, the doors, the run."""

from __future__ import annotations

import importlib.util
import ipaddress
import json
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import structlog

from core.guards import WANTED
from core.last_good import LastGood
from core.log import configure_logs
from core.serve.master import Master
from core.serve.settings import ServerError, ServerOptions, WorkerClass
from core.serve.sockets import Doors, host_port, open_doors
from core.told import Told


def default_worker_class() -> WorkerClass:
    """uvloop where it is installed."""
    return "uvloop" if importlib.util.find_spec("uvloop") else "asyncio"


def serve_file(config: Path, options: ServerOptions, on_ready: Callable[[tuple[str, ...], Told], None]) -> None:
    """Serve the pipelines.toml until a signal ends it. The workers find the file by PIPELINES_TOML.

    `on_ready` gets the addresses once all workers serve, and what they serve. Raises ServerError, also for a file that
    cannot be served: the workers read it, for the master shall be small and soon there.
    """
    if not hasattr(os, "fork"):
        raise ServerError("hookline serve needs a POSIX system; here, run: hypercorn core.app:app")
    doors = open_doors(options.bind)
    os.environ["PIPELINES_TOML"] = str(config.resolve())
    configure_logs()
    try:
        options = attrs.evolve(options, last_good=LastGood.make())
    except OSError as error:  # a worker that is replaced finds the file alone
        structlog.get_logger().warning("no configuration is kept for other workers", why=str(error))
    Master(options, doors, lambda told: on_ready(_names(options.bind, doors), told)).run()


def want_keys(binds: Sequence[str]) -> None:
    """Where other machines reach the server, let the workers know: none of their pipelines may be without keys.

    Raises ServerError for a name that cannot be looked up.
    """
    wide = next(filter(_is_beyond, binds), None)
    if wide is not None:
        os.environ[WANTED] = wide


def _is_beyond(bind: str) -> bool:
    """Whether others than this machine may reach it. Raises ServerError for a name that cannot be looked up."""
    if bind.startswith("unix:"):
        return False
    if bind.startswith("fd://"):
        return not _is_loopback(_inherited(bind.removeprefix("fd://")))
    host, port = host_port(bind)
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)  # noqa: S104  "" binds to all
    except (OSError, UnicodeError) as error:
        raise ServerError(f"cannot listen on {bind}: no such address; choose another") from error
    return not all(_is_loopback(str(address[4][0])) for address in found)


def _inherited(number: str) -> str:
    """The address of a socket that was handed to us; "" where there is none: opening it will tell."""
    try:
        with socket.socket(fileno=os.dup(int(number))) as sock:
            name = sock.getsockname()
    except (OSError, ValueError, OverflowError):
        return ""
    return str(name[0]) if isinstance(name, tuple) else ""


def _is_loopback(address: str) -> bool:
    if not address:
        return True
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def curl_of(bind: str, path: str, model: str, *, key: bool = False) -> str:
    """A command that asks the model something through the server at `bind`; with `key` it wants one."""
    if bind.startswith("unix:"):
        where = f"--unix-socket {bind.removeprefix('unix:')} http://localhost"
    else:
        host, port = host_port(bind)
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  no bind, a look-up
        where = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    question = [{"role": "user", "content": "Why is the sky blue?"}]
    body = json.dumps({"model": model, "max_tokens": 1024, "messages": question}).replace("'", "'\\''")
    sent = ' -H "x-api-key: $KEY"' if key else ""
    return f"curl {where}{path}/messages -H 'content-type: application/json'{sent} -d '{body}'"


def _names(binds: tuple[str, ...], doors: Doors) -> tuple[str, ...]:
    """The binds as the user wrote them, but with the port that the system chose, or what is behind fd://NUMBER."""
    pairs = zip(binds, doors.addresses, strict=True)
    return tuple(real if bind.endswith(":0") or bind.startswith("fd://") else bind for bind, real in pairs)
