"""Signals as something to wait for."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self


class Signals:
    """Within it these signals do nothing but wait to be read; `fileno` is readable when one has come."""

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        self._numbers = tuple(numbers)

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before: dict[int, Any] = {number: signal.signal(number, lambda *_: None) for number in self._numbers}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        self._reader.close()
        self._writer.close()

    def fileno(self) -> int:
        """What becomes readable with a signal."""
        return self._reader.fileno()

    def read(self) -> list[int]:
        """Those that came since the last look, in their order."""
        came: list[int] = []
        with suppress(BlockingIOError):
            while True:
                came += self._reader.recv(4096)
        return [number for number in came if number in self._numbers]
