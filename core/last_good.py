"""The configuration that a server's workers served last, for the one that takes a dead worker's place.

The file may be wrong by then. The text is in memory that all processes of the server share, and on no disk.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from multiprocessing import reduction
from typing import Any, Final

WHERE: Final = "HOOKLINE_LAST_GOOD"
"""The environment variable by which a worker's application learns the number of the open file."""

_HEAD: Final = struct.Struct("=Q32s")
"""The length of the text, which follows (0: there is none), and the digest of a content that is doubted."""
_NONE: Final = bytes(32)


class LastGood:
    """The text that was served last, and the digest (SHA-256) of one that a worker is just beginning with.

    It is an open file without a name; pickled for a process that is being spawned, it is that file there, too.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        """The file's descriptor."""

    @classmethod
    def make(cls) -> LastGood:
        """A new one, with nothing in it. Raises OSError."""
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("hookline"))
        import tempfile  # noqa: PLC0415  the master shall be small

        with tempfile.TemporaryFile() as file:
            return cls(os.dup(file.fileno()))

    @classmethod
    def inherited(cls, environ: MutableMapping[str, str]) -> LastGood | None:
        """The one that was put into the environment, which is taken out: no other process shall look for it."""
        number = environ.pop(WHERE, "")
        return cls(int(number)) if number.isdecimal() else None

    def bequeath(self, environ: MutableMapping[str, str]) -> None:
        """Put it into the environment, for the application that is loaded next."""
        environ[WHERE] = str(self.number)

    def __reduce__(self) -> tuple[Callable[[Any], LastGood], tuple[Any]]:
        return _taken, (reduction.DupFd(self.number),)

    @property
    def text(self) -> bytes:
        """The text; b"" where there is none yet."""
        with self._locked():
            size, _ = self._head()
            text = os.pread(self.number, size, _HEAD.size)
        return text if len(text) == size else b""

    def keep(self, text: bytes) -> None:
        """This one is served. Nothing is doubted any more. Raises OSError."""
        with self._locked():
            if self._head() == (len(text), _NONE) and os.pread(self.number, len(text), _HEAD.size) == text:
                return
            # Whoever is killed in between leaves none, and no mixture.
            self._write(0, _NONE)
            _pwrite(self.number, text, _HEAD.size)
            self._write(len(text), _NONE)

    def doubt(self, digest: bytes) -> bool:
        """A worker begins with a content of that digest: whether the one before did, and never came to serve.

        If so, the doubt is over: whoever comes next tries it again.
        """
        with self._locked():
            size, doubted = self._head()
            again = doubted == digest
            self._write(size, _NONE if again else digest)
        return again

    def trust(self) -> None:
        """What is wrong with the content is known: nothing is doubted any more."""
        with self._locked():
            self._write(self._head()[0], _NONE)

    def _head(self) -> tuple[int, bytes]:
        size, doubted = _HEAD.unpack(os.pread(self.number, _HEAD.size, 0).ljust(_HEAD.size, b"\0"))
        return size, doubted

    def _write(self, size: int, doubted: bytes) -> None:
        _pwrite(self.number, _HEAD.pack(size, doubted), 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among the processes; the system takes the lock from one that dies."""
        import fcntl  # noqa: PLC0415  not on every platform, and needed with `hookline serve` alone

        fcntl.lockf(self.number, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.number, fcntl.LOCK_UN)


def _taken(handed: Any) -> LastGood:
    number = handed.detach()
    # Its own children (an engine, say) need not have it.
    os.set_inheritable(number, False)
    return LastGood(number)


def _pwrite(number: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(number, data, at)
        data, at = data[written:], at + written
