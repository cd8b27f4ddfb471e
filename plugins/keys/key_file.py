"""The file with the keys: read, and changed by one process at a time."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from plugins.keys.entry import EntryError, Key, key_of

FORMAT: Final = 1
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of the largest file that is read."""

State = tuple[int, ...]
"""What a look at the file shows; another one means another content, or another mode. () is no file."""


class KeyFileError(Exception):
    """The file cannot be used; the text is one line that names it and says what to do."""


@attrs.frozen
class KeyFile:
    """The file at `path`, which may be a link. Every method blocks."""

    path: Path

    def look(self) -> State:
        """The file's state now."""
        try:
            return _state(self.path.stat())
        except OSError:
            return ()

    def read(self) -> tuple[Key, ...]:
        """All keys, in order. Raises KeyFileError."""
        try:
            with open(self.path, "rb", opener=_at_once) as file:
                self._check(os.fstat(file.fileno()))
                data = file.read(LARGEST + 1)
        except OSError as error:
            hint = "; make the first key: hookline keys add NAME" if isinstance(error, FileNotFoundError) else ""
            raise KeyFileError(f"{self.path} cannot be read: {(error.strerror or str(error)).lower()}{hint}") from error
        return self._keys(data)

    def change(self, change: Callable[[tuple[Key, ...]], Iterable[Key]]) -> None:
        """Put what `change` makes of the keys in their place, whole or not at all; other processes wait meanwhile.

        Raises KeyFileError, and what `change` raises: nothing is changed then.
        """
        try:
            target = self.path.resolve()
            with _locked(target):
                keys = self.read() if target.exists() else ()
                tables = [key.table() for key in change(keys)]
                _replace(target, orjson.dumps({"format": FORMAT, "keys": tables}, option=orjson.OPT_INDENT_2) + b"\n")
        except OSError as error:
            raise KeyFileError(f"{self.path} cannot be written: {(error.strerror or str(error)).lower()}") from error

    def _check(self, found: os.stat_result) -> None:
        """Raises KeyFileError for a file that others could have written."""
        if not stat.S_ISREG(found.st_mode):
            raise KeyFileError(f"{self.path} is no regular file")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise KeyFileError(f"{self.path} may be written by others; run: chmod 600 {self.path}")
        if found.st_uid not in {0, os.geteuid()}:
            raise KeyFileError(f"{self.path} belongs to another user; it must be this one's, or root's")

    def _keys(self, data: bytes) -> tuple[Key, ...]:
        if len(data) > LARGEST:
            raise KeyFileError(f"{self.path} is larger than {LARGEST} bytes")
        try:
            whole: Any = orjson.loads(data)
        except ValueError as error:
            raise KeyFileError(f"{self.path} is no JSON: {error}") from error
        if not isinstance(whole, dict) or whole.get("format") != FORMAT or not isinstance(whole.get("keys"), list):
            raise KeyFileError(f'{self.path} is no file of keys: expected {{"format": {FORMAT}, "keys": […]}}')
        keys: dict[str, Key] = {}
        for position, table in enumerate(whole["keys"]):
            try:
                key = key_of(table)
            except EntryError as error:
                raise KeyFileError(f"{self.path}: keys[{position}]: {error}") from error
            if key.id in keys:
                raise KeyFileError(f"{self.path}: keys[{position}]: the id {key.id!r} is there twice")
            keys[key.id] = key
        self._check_names(keys.values())
        return tuple(keys.values())

    def _check_names(self, keys: Iterable[Key]) -> None:
        """Raises KeyFileError when two keys that are in use have one name: their numbers could not be told apart."""
        counts = Counter(key.name for key in keys if key.revoked is None)
        for name, count in counts.items():
            if count > 1:
                raise KeyFileError(f"{self.path}: two keys are called {name!r}; rename or revoke one of them")


def _at_once(path: str, flags: int) -> int:
    """Open it without waiting, as for a named pipe into which nobody writes."""
    return os.open(path, flags | os.O_NONBLOCK)


def _state(found: os.stat_result) -> State:
    return (found.st_ino, found.st_dev, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Nobody else changes the file meanwhile. The lock is a file of its own: the other one is replaced."""
    handle = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside it and give it the name; it keeps its owner, for a server may run as another than we do."""
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(FileNotFoundError):
                before = path.stat()
                os.fchmod(handle, stat.S_IMODE(before.st_mode) & 0o644)
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(handle, before.st_uid, before.st_gid)
            file.write(data)
            file.flush()
            os.fsync(handle)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
