"""pipelines.toml on disk: loaded, and watched for another content; the one that was served last stands in for it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs
import structlog

from core.config.file import content_of, read_config
from core.errors import ConfigError
from core.guards import check_guards
from core.last_good import LastGood
from core.loader import Loaded, load

_ABSENT: Final = b""


@attrs.frozen
class _State:
    """What a look at the file shows: when it was written, and a hash of its content, _ABSENT where there is none."""

    written: int = 0
    digest: bytes = _ABSENT


class ConfigFile:
    """The file at `path`. Its methods block, and need no event loop; they are called by one thread at a time.

    `last_good` is what this worker and the others served last, for those that begin later.
    """

    def __init__(self, path: Path, environ: Mapping[str, str], last_good: LastGood | None = None) -> None:
        self.path = path
        self._environ = environ
        self._last_good = last_good
        self._content = b""
        self._served: bytes | None = None
        self._tried = self._last = _State()

    def begin(self) -> Loaded:
        """Load it for the first time, or in its place, where it is wrong, what other workers served last.

        Also where a worker began with it before, and did not come to serve. Raises ConfigError.
        """
        last = self._last_good.text if self._last_good is not None else b""
        if self._last_good is None or not last:
            return self.load()
        digest = self._look().digest
        if digest != _digest(last) and self._last_good.doubt(digest):
            return self._load_last(last, "a worker began with the file and did not come to serve")
        try:
            return self.load()
        except ConfigError as error:
            self._last_good.trust()
            try:
                return self._load_last(last, str(error))
            except ConfigError:
                raise error from None

    def load(self, previous: Loaded | None = None) -> Loaded:
        """Read it and load what it describes, with the parts of `previous` that it leaves as they are.

        Raises ConfigError.
        """
        # Looked at before it is read: what changes in between is found by the next looks.
        self._tried = self._last = state = self._look()
        self._served = None
        content = content_of(self.path)
        loaded = self._load(content, previous)
        self._content, self._served = content, state.digest
        return loaded

    def keep(self) -> None:
        """What was loaded is served: workers that begin later can do with it."""
        if self._last_good is not None and self._served is not None:
            self._last_good.keep(self._content)

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

    def _load(self, content: bytes, previous: Loaded | None) -> Loaded:
        loaded = load(read_config(self.path, self._environ, content), self._environ, previous)
        check_guards(loaded, self._environ)
        return loaded

    def _load_last(self, content: bytes, why: str) -> Loaded:
        self._tried = self._last = self._look()
        loaded = self._load(content, None)
        self._content, self._served = content, _digest(content)
        structlog.get_logger().error(
            "the last good configuration is served", file=str(self.path), worker=os.getpid(), why=why
        )
        return loaded

    def _look(self) -> _State:
        try:
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                return self._tried  # a pipe can be read once only
            return _State(status.st_mtime_ns, _digest(self.path.read_bytes()))
        except OSError:
            return _State()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
