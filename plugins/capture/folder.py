"""The directory of captured exchanges: files only the user can read, and not too many of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs
import structlog

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_MORE: Final = os.O_WRONLY | os.O_APPEND


@attrs.frozen
class Folder:
    """A directory that keeps its newest `keep` files."""

    path: Path
    keep: int

    def refusal(self) -> str:
        """Why no file can be written here, as far as it can be seen beforehand; "" when it can."""
        there = next((place for place in (self.path, *self.path.parents) if place.exists()), self.path)
        if not there.is_dir():
            return f"{there} is no directory"
        return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"

    def make(self) -> None:
        """Make the directory, for the user alone. Raises OSError."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, name: str, data: bytes) -> bool:
        """Begin a file, after room was made for it; whether it is written.

        A file that cannot be written costs a line in the log, not the request.
        """
        try:
            self.make()
            self._make_room()
            self._write(name, data, _NEW)
        except OSError as error:
            return self._told(name, error)
        return True

    def append(self, name: str, data: bytes) -> bool:
        """Add to a file that was begun; whether it is written. One that had to make room is gone for good."""
        try:
            self._write(name, data, _MORE)
        except FileNotFoundError:
            return False
        except OSError as error:
            return self._told(name, error)
        return True

    def _write(self, name: str, data: bytes, flags: int) -> None:
        """All or nothing: half a line, as a full disk leaves it, would spoil what is there."""
        file = self.path / name
        descriptor = os.open(file, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(descriptor, left) :]
            except OSError:
                os.ftruncate(descriptor, size)
                if not size:
                    file.unlink(missing_ok=True)
                raise
        finally:
            os.close(descriptor)

    def _told(self, name: str, error: OSError) -> bool:
        log = structlog.get_logger()
        log.warning("an exchange cannot be written", file=str(self.path / name), why=error.strerror)
        return False

    def _make_room(self) -> None:
        files = sorted(self.path.glob("*.jsonl"))
        for old in files[: len(files) + 1 - self.keep] if len(files) >= self.keep else []:
            old.unlink(missing_ok=True)
