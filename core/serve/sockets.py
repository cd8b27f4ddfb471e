"""The listening sockets: made once, by the master, and handed to the workers."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import attrs

from core.serve.settings import ServerError

KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""When a connection on which nothing moves is found dead: after two minutes. Seconds, seconds, probes."""
UNSENT: Final = 128 * 1024
"""Bytes that the kernel keeps for a client beyond what is on its way: without it megabytes wait for one that stalls,
and a slow one is heard of again only when it has taken a third of them."""


class Options(Protocol):
    """A socket, or what an event loop shows of one."""

    @property
    def family(self) -> int:
        """Its family."""

    def setsockopt(self, level: int, name: int, value: int, /) -> None:
        """Set an option."""


@attrs.frozen(eq=False)
class Doors:
    """The bound sockets, in the order of their binds. They do not listen yet: a worker that is ready lets them."""

    sockets: tuple[socket.socket, ...]
    _paths: tuple[tuple[str, int], ...] = ()
    """The Unix sockets that are ours, with their inodes."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where a client finds them, as binds: a port that was 0 is the one that the system chose."""
        return tuple(map(_address, self.sockets))

    def let_go(self) -> None:
        """Close them; the Unix sockets' names stay for the workers that still listen there."""
        for sock in self.sockets:
            sock.close()

    def close(self) -> None:
        """Close them and remove the Unix sockets' names; what was closed stays so."""
        self.let_go()
        for path, inode in self._paths:
            with suppress(OSError):
                if Path(path).stat().st_ino == inode:
                    Path(path).unlink()


def open_doors(binds: Sequence[str]) -> Doors:
    """A socket for each bind.

    Raises ServerError when an address cannot be had.
    """
    made: list[socket.socket] = []
    paths: list[tuple[str, int]] = []
    try:
        for bind in binds:
            made.append(_open(bind))
            if bind.startswith("unix:"):
                path = bind.removeprefix("unix:")
                paths.append((path, Path(path).stat().st_ino))
    except BaseException:
        Doors(tuple(made), tuple(paths)).close()
        raise
    return Doors(tuple(made), tuple(paths))


def cut_stalled(sock: Options, seconds: float) -> None:
    """Let the kernel cut this connection, which is about to be closed, when its client takes no more for so long.

    Not before: while a window is small the kernel counts a client that takes a little at a time as one that takes
    nothing, and as long as the connection is open its stalling is seen here.
    """
    if sock.family != getattr(socket, "AF_UNIX", None):
        _set_tcp(sock, {"TCP_USER_TIMEOUT": int(seconds * 1000)})


def host_port(bind: str) -> tuple[str, int]:
    """The two parts of HOST:PORT or [IPv6]:PORT. Raises ServerError when it is neither."""
    host, _, port = bind.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ServerError(f"--bind {bind!r} is not HOST:PORT, [IPv6]:PORT, unix:PATH or fd://NUMBER")
    return host.strip("[]"), int(port)


def _open(bind: str) -> socket.socket:
    try:
        if bind.startswith("unix:"):
            sock = _unix(bind.removeprefix("unix:"))
        elif bind.startswith("fd://"):
            sock = _inherited(bind.removeprefix("fd://"))
        else:
            sock = _tcp(*host_port(bind))
        _set_options(sock)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "choose another: hookline serve --bind HOST:PORT, or make serve BIND=HOST:PORT"
        raise ServerError(f"cannot listen on {bind}: {why}; {hint}") from error
    sock.setblocking(False)
    return sock


def _tcp(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port on which connections of a server that has ended still linger may be taken, one in use may not.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def _unix(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(path).st_mode) and not _answers(path):  # noqa: PTH116
                Path(path).unlink()
        sock.bind(path)
    except OSError:
        sock.close()
        raise
    return sock


def _answers(path: str) -> bool:
    """Whether somebody listens on this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True


def _inherited(number: str) -> socket.socket:
    if not number.isdecimal():
        raise ServerError(f"--bind 'fd://{number}' is not HOST:PORT, [IPv6]:PORT, unix:PATH or fd://NUMBER")
    sock = socket.socket(fileno=int(number))
    if sock.type != socket.SOCK_STREAM:
        sock.detach()
        raise ServerError(f"cannot listen on fd://{number}: it is no stream socket")
    return sock


def _set_options(sock: socket.socket) -> None:
    if sock.family == getattr(socket, "AF_UNIX", None):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    _set_tcp(sock, {**KEEP_ALIVE, "TCP_NOTSENT_LOWAT": UNSENT})


def _set_tcp(sock: Options, options: Mapping[str, int]) -> None:
    for name, value in options.items():
        if (option := getattr(socket, name, None)) is not None and sys.platform == "linux":
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _address(sock: socket.socket) -> str:
    name = sock.getsockname()
    if isinstance(name, str):
        return f"unix:{name}"
    return f"[{name[0]}]:{name[1]}" if sock.family == socket.AF_INET6 else f"{name[0]}:{name[1]}"
