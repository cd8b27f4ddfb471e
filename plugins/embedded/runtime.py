"""The one engine of a gateway: found by its socket or started, whichever worker comes first."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO

import attrs

from plugins.embedded import engine

if sys.platform != "win32":
    import fcntl


@attrs.frozen(eq=False)
class Joined:
    """A connection to the engine, non-blocking; `process` and its `log` belong to the worker that started it."""

    connection: socket.socket
    process: subprocess.Popen[bytes] | None = None
    log: IO[bytes] | None = None

    def said(self) -> str:
        """The last lines that a dying engine wrote, on one line."""
        if self.log is None:
            return ""
        self.log.seek(0)
        lines = self.log.read(1 << 16).decode("utf-8", "replace").split("\n")
        return " ".join(line.strip() for line in lines[-4:]).strip()

    def close(self) -> None:
        """Close what this process holds; the engine itself ends by it when nobody else holds it."""
        self.connection.close()
        if self.log is not None:
            self.log.close()


def join(options: engine.Options, master: int, directory: Path | None = None) -> Joined:
    """A connection to the engine of the gateway with this process id; it is started when there is none.

    Blocks for some milliseconds, not until the engine is ready. Raises OSError.
    """
    directory = directory or private_directory()
    digest = blake2b(options.dumps().encode(), digest_size=6).hexdigest()
    path = directory / f"{master}-{digest}.sock"
    with _locked(directory / "lock"):
        _sweep(directory)
        try:
            return Joined(_connect(path))
        except (FileNotFoundError, ConnectionRefusedError):
            path.unlink(missing_ok=True)
        return _start(options, master, path)


def _start(options: engine.Options, master: int, path: Path) -> Joined:
    """Start the engine on a socket that is listening already, so that nobody has to wait for it to appear."""
    log = tempfile.TemporaryFile()  # noqa: SIM115  it is closed by Joined.close
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        handle = listener.fileno()
        script = [sys.executable, "-P", engine.__file__, str(handle), str(master), options.dumps()]
        process = subprocess.Popen(  # noqa: S603  our own file
            script, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[handle], start_new_session=True
        )
        return Joined(_connect(path), process, log)


def _connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    connection.setblocking(False)
    return connection


def private_directory() -> Path:
    """A directory that only this user can enter, for sockets. Raises OSError when there is none."""
    name = f"hookline-{os.getuid()}"
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir()):
        path = Path(base) / name
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            info = path.lstat()
        except OSError:
            continue
        if base and stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o077:
            return path
    raise PermissionError(
        f"{path} must be a directory of this user's with mode 700; set XDG_RUNTIME_DIR to another one"
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sweep(directory: Path) -> None:
    """Remove the sockets of gateways that are gone: an engine that was killed leaves its own behind."""
    for path in directory.glob("*.sock"):
        master = path.name.partition("-")[0]
        if master.isdigit() and not engine.alive(int(master)):
            path.unlink(missing_ok=True)
