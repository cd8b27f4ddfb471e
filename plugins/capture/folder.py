"""The directory of captured exchanges: files only the user can read, and not too many of them."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import structlog


@attrs.frozen
class Folder:
    """A directory that keeps its newest `keep` files."""

    path: Path
    keep: int

    def make(self) -> None:
        """Make the directory, for the user alone. Raises OSError."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def append(self, name: str, data: bytes) -> None:
        """Add to a file. One that cannot be written costs a line in the log, not the request."""
        file = self.path / name
        try:
            self.make()
            if not file.exists():
                self._make_room()
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as out:  # noqa: PTH123
                out.write(data)
        except OSError as error:
            structlog.get_logger().warning("an exchange cannot be written", file=str(file), why=error.strerror)

    def _make_room(self) -> None:
        files = sorted(self.path.glob("*.jsonl"))
        for old in files[: len(files) + 1 - self.keep] if len(files) >= self.keep else []:
            old.unlink(missing_ok=True)
