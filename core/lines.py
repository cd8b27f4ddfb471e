"""Log lines on their way out: several at once, and from a thread where a reader stalls, so that no request waits."""

from __future__ import annotations

import asyncio
import math
import os
import select
import stat
import threading
from collections import deque
from contextlib import suppress
from typing import IO, Final

import orjson

AT_ONCE: Final = select.PIPE_BUF
"""Bytes that a pipe takes without waiting, if it takes any."""
ROOM: Final = 8 * 1024 * 1024
"""Bytes of lines that wait for a reader who stalls; what comes then is lost, and counted."""
LAST: Final = 1.0
"""Seconds that the last lines have at the end of the process."""


class Lines:
    """A logger for structlog whose every method takes a line. A line that cannot be written is lost, nothing else."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._lost = 0
        self._due = False
        self._writing = threading.Lock()
        self._called = threading.Event()
        self._ends = False
        self._thread: threading.Thread | None = None

    def msg(self, line: bytes) -> None:
        """Take a line, without its end."""
        if self._size >= ROOM:
            self._lost += 1
            return
        self._size += len(line)
        self._waiting.append(line)
        if not self._due:
            self._plan()

    debug = info = warning = warn = error = critical = exception = failure = fatal = log = msg

    def end(self) -> None:
        """Write what waits; of what a reader does not take in time there is no more."""
        if self._thread is not None:
            self._ends = True
            self._called.set()
            self._thread.join(LAST)
            if self._thread.is_alive():
                return
        self._write_all()

    def _plan(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nobody else waits in this thread
            self._write_all()
        else:
            # Those that come with this turn of the loop go with it: to write one takes as long as to make it.
            self._due = True
            loop.call_soon(self._send)

    def _send(self) -> None:
        self._due = False
        while self._waiting and not (self._lost or self._writing.locked()) and self._write(_room(self._file)):
            pass
        if not self._waiting:
            return
        if self._thread is None:
            # A daemon: a reader who stalls for ever shall not hold up the end.
            self._thread = threading.Thread(target=self._serve, name="log", daemon=True)
            self._thread.start()
        self._called.set()

    def _serve(self) -> None:
        while not self._ends:
            self._called.wait()
            self._called.clear()
            self._write_all()

    def _write_all(self) -> None:
        """All that waits; whoever reads may let this wait, too."""
        # Other workers write into the same pipe: what is larger than it takes at once would be torn by their lines.
        size = math.inf if _room(self._file) == math.inf else AT_ONCE
        while self._write(size, least=1):
            pass

    def _write(self, room: float, *, least: int = 0) -> bool:
        """Lines that together are not larger than the room, or the `least` number; whether there were any."""
        with self._writing:
            lines: list[bytes] = []
            size = 0
            while self._waiting:
                size += len(self._waiting[0]) + 1
                if size > room and len(lines) >= least:
                    break
                lines.append(self._waiting.popleft())
            if self._lost and not (lines or self._waiting):
                lost, self._lost = self._lost, 0
                lines.append(orjson.dumps({"event": "log lines lost", "count": lost, "level": "warning"}))
            if lines:
                with suppress(OSError, ValueError):
                    _put(self._file, b"\n".join((*lines, b"")))
            self._size = sum(map(len, list(self._waiting)))
        return bool(lines)


def _room(file: IO[bytes]) -> float:
    """Bytes that can be written without waiting for a reader."""
    try:
        number = file.fileno()
        if stat.S_ISREG(os.fstat(number).st_mode):
            return math.inf
        poll = select.poll()
        poll.register(number, select.POLLOUT)
        return AT_ONCE if poll.poll(0) else 0
    except (AttributeError, OSError, ValueError):  # no file of the system's
        return math.inf


def _put(file: IO[bytes], data: bytes) -> None:
    """Past the file's own buffer: a thread that hangs would hold its lock, which the interpreter wants at its end."""
    try:
        number = file.fileno()
    except (AttributeError, OSError):  # a test's
        file.write(data)
        return
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
