"""The key of the seal: one for all workers, the same after a restart, made once where none is configured."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import structlog

FILE: Final = Path("hookline", "seal.key")
"""The key's file, below the user's state directory."""
SHORTEST: Final = 32
"""The fewest characters a key's file may hold; a new one has 64."""


def key_of(secret: str) -> bytes:
    """The key that a secret stands for, whatever its length: 32 bytes."""
    return sha256(b"hookline seal\x00" + secret.encode("utf-8", "surrogatepass")).digest()


def find_key(environ: Mapping[str, str]) -> bytes:
    """The key of this user on this machine: the one in its file, which is made when there is none.

    Never raises: where the file cannot be had, the key is `machine_secret`'s, and one line of the log says why.
    """
    try:
        return key_of(file_secret(state_folder(environ) / FILE))
    except (OSError, ValueError, RuntimeError) as error:
        reason = f"{type(error).__name__}: {error}"
        hint = "anybody on this machine could make such a key: set seal_key in [anthropic], or XDG_STATE_HOME"
        structlog.get_logger().warning("seal_key", source="machine", reason=reason, hint=hint)
        return key_of(machine_secret())


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where this user's programs keep their state: XDG_STATE_HOME, else ~/.local/state. RuntimeError: no home."""
    named = environ.get("XDG_STATE_HOME", "")
    # The XDG specification takes a relative path for none.
    return Path(named) if named and Path(named).is_absolute() else Path.home() / ".local" / "state"


def file_secret(path: Path) -> str:
    """The secret in that file, which is made, for its owner alone, when it is missing; of many makers one wins.

    Raises OSError, and ValueError for a file that holds no key.
    """
    with suppress(FileExistsError):
        if not path.exists():
            _make(path)
    secret = path.read_text("ascii").strip()
    if len(secret) < SHORTEST:
        raise ValueError(f"{path} holds no key: remove it")
    return secret


def machine_secret() -> str:
    """A value that stays the same for this user on this machine; no secret from others there."""
    machine = socket.gethostname()
    for path in (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id")):
        with suppress(OSError, ValueError):
            machine = path.read_text("ascii").strip() or machine
            break
    user = os.getuid() if hasattr(os, "getuid") else ""
    return f"{machine}:{user}"


def _make(path: Path) -> None:
    """Write the file beside its place (mode 0600), then link it there: nobody ever reads half of it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, path)
    finally:
        Path(beside).unlink()
