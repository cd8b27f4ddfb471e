"""pipelines.toml on disk: loaded, and watched for another content."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from core.config.file import read_config
from core.guards import check_guards
from core.loader import Loaded, load

_ABSENT: Final = b""


@attrs.frozen
class _State:
    """What a look at the file shows: when it was written, and a hash of its content, _ABSENT where there is none."""

    written: int = 0
    digest: bytes = _ABSENT


class ConfigFile:
    """The file at `path`. Its methods block, and need no event loop; they are called by one thread at a time."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self.path = path
        self._environ = environ
        self._served: bytes | None = None
        self._tried = self._last = _State()

    def load(self, previous: Loaded | None = None) -> Loaded:
        """Read it and load what it describes, with the parts of `previous` that it leaves as they are.

        Raises ConfigError.
        """
        # Looked at before it is read: what changes in between is found by the next looks.
        self._tried = self._last = state = self._look()
        self._served = None
        loaded = load(read_config(self.path, self._environ), self._environ, previous)
        check_guards(loaded, self._environ)
        self._served = state.digest
        return loaded

    def refuse(self) -> None:
        """What was loaded is not served: whatever the file shows next is to be loaded."""
        self._served = None

    def changed(self) -> bool:
        """One look: whether it shall be loaded, for it has another content than what is served.

        It must have shown the same in the look before: a writer may be at work, or an editor put a new file in its
        place. Each state is told once; a wrong one, which is not served, again when the file is touched.
        """
        state = self._look()
        last, self._last = self._last, state
        if state == self._tried or state != last:
            return False
        self._tried = state
        return state.digest != self._served

    def _look(self) -> _State:
        try:
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                return self._tried  # a pipe can be read once only
            return _State(status.st_mtime_ns, hashlib.sha256(self.path.read_bytes()).digest())
        except OSError:
            return _State()
