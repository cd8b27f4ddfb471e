"""The directory that the workers of one run of a server share, and the seats of the workers in it.

Who is alive is told by locks (`flock`), which the system takes from a process however it ends:

    $TMPDIR/hookline-metrics-UID/     locked by whoever changes or reads anything below
        RUN/                          locked, shared, by every worker of the run; nobody's lock: what is here is rubbish
            SEAT.alive                locked by the worker that has the seat
            counter_SEAT.db …         its numbers
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2s
from pathlib import Path
from typing import Final

import attrs
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import mark_process_dead

_DEAD: Final = "dead"
"""The seat that has the sums of all who have died."""


def run_name() -> str:
    """The same in all workers that one master starts, and in no others.

    `multiprocessing` gives a master's children, also later ones, the random key that it made for itself.
    """
    master = multiprocessing.parent_process()
    process = (master.pid if master is not None else None) or os.getpid()
    key = bytes(multiprocessing.current_process().authkey)
    return blake2s(b"%d" % process, key=key[:32], digest_size=12).hexdigest()


@attrs.frozen(eq=False)
class Run:
    """One run's directory, with a seat taken in it by `join`; `leave` when the process ends."""

    directory: Path
    seat: str
    _locks: tuple[int, ...]
    _process: int = attrs.field(factory=os.getpid)

    @classmethod
    def join(cls, base: Path | None = None, name: str = "", *, if_first: Callable[[], None] = lambda: None) -> Run:
        """Take a seat, and remove what runs have left that are over. Raises OSError when the base is not ours alone.

        `if_first` is called before the first seat of the run is taken; others wait for it.
        """
        base = base or Path(tempfile.gettempdir()) / f"hookline-metrics-{os.getuid()}"
        with suppress(FileExistsError):
            base.mkdir(mode=0o700)
        _check_private(base)
        with locked(base):
            _sweep(base)
            directory = base / (name or run_name())
            if not directory.exists():
                if_first()
                directory.mkdir(mode=0o700)
            seat = f"{os.getpid()}-{secrets.token_hex(4)}"
            alive = os.open(directory / f"{seat}.alive", os.O_RDONLY | os.O_CREAT, 0o600)
            fcntl.flock(alive, fcntl.LOCK_EX)
            presence = os.open(directory, os.O_RDONLY)
            fcntl.flock(presence, fcntl.LOCK_SH)
        return cls(directory, seat, (alive, presence))

    @contextmanager
    def reading(self) -> Iterator[list[int]]:
        """All numbers are steady meanwhile, and those of the dead put away; the processes that live."""
        with locked(self.directory.parent):
            living = set()
            for process, path in self._seats():
                if _is_held(path):
                    living.add(process)
                else:
                    self._bury(path)
            yield sorted(living)

    def leave(self) -> None:
        """Give the seat up; the last one takes the directory away. In a forked child there is nothing to do."""
        if os.getpid() != self._process:
            return
        with suppress(OSError), locked(self.directory.parent):
            for lock in self._locks:
                os.close(lock)
            _remove_if_over(self.directory)

    def _seats(self) -> list[tuple[int, Path]]:
        return [(int(path.stem.partition("-")[0]), path) for path in self.directory.glob("*.alive")]

    def _bury(self, path: Path) -> None:
        """Add what a dead worker counted to what other dead ones did; its gauges go."""
        mark_process_dead(path.stem, str(self.directory))
        for kind in ("counter", "histogram"):
            file = self.directory / f"{kind}_{path.stem}.db"
            if file.exists():
                sums = MmapedDict(str(self.directory / f"{kind}_{_DEAD}.db"))
                for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):
                    sums.write_value(key, sums.read_value(key)[0] + value, 0.0)
                sums.close()
                file.unlink()
        path.unlink()


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Nobody else has the directory locked meanwhile."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _check_private(base: Path) -> None:
    """Raises PermissionError when another user may read or change the directory, which has a name anyone may guess."""
    found = base.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{base} is not a directory of this user's alone; remove it, or set TMPDIR")


def _sweep(base: Path) -> None:
    for directory in base.iterdir():
        if directory.is_dir():
            _remove_if_over(directory)


def _remove_if_over(directory: Path) -> None:
    if not _is_held(directory):
        shutil.rmtree(directory, ignore_errors=True)


def _is_held(path: Path) -> bool:
    """Whether a process has a lock on it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
