"""A thread beside the event loop: it takes up a changed file of keys, writes what was used, and reads the others'."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import structlog

from plugins.keys.book import Book
from plugins.keys.gate import Gate
from plugins.keys.key_file import KeyFile, KeyFileError, State
from plugins.keys.ledger import Batch, Spent
from plugins.keys.limits import Limits

LOOK: Final = 0.5
"""Seconds between two looks at both files."""
AGAIN: Final = 30.0
"""Seconds after which all is read again, whatever is known: less than a minute."""
END: Final = 4.0
"""Seconds that the thread has to write the last of it."""


@attrs.frozen(eq=False)
class _Last:
    """What the last look at the usage found, and when."""

    version: int = -1
    budgets: Mapping[str, int] = attrs.field(factory=dict)
    steady: float = 0.0
    spent: Spent = attrs.field(factory=dict)

    def fits(self, version: int, budgets: Mapping[str, int], steady: float) -> bool:
        """Whether another look would find the same."""
        return self.version == version and self.budgets == budgets and steady - self.steady < AGAIN

    def known(self, batch: Batch, steady: float) -> Spent:
        """The sums that need not be made again: the file tells who was active for a minute, and not of all time."""
        if steady - self.steady >= AGAIN:
            return {}
        active = {key for key, _ in batch.minutes}
        return {key: spent for key, spent in self.spent.items() if key not in active}


@attrs.define(eq=False)
class Keeper:
    """Keeps a gate up to date with its two files. `start` and `stop` are called once, the rest by one thread.

    No file's trouble leaves it: the log has one line when it begins and one when it is over.
    """

    gate: Gate
    defaults: Limits
    keys: KeyFile
    usage: Path
    _writer: str = attrs.field(init=False, factory=lambda: secrets.token_hex(8))
    _state: State = attrs.field(init=False, default=())
    _doubted: State | None = attrs.field(init=False, default=None)
    _book: Book | None = attrs.field(init=False, default=None)
    _last: _Last = attrs.field(init=False, factory=_Last)
    _failing: bool = attrs.field(init=False, default=False)
    _ending: threading.Event = attrs.field(init=False, factory=threading.Event)
    _thread: threading.Thread | None = attrs.field(init=False, default=None)
    _log: Any = attrs.field(init=False, factory=structlog.get_logger)

    def load(self) -> None:
        """Read the keys for the first time. Raises KeyFileError."""
        self._state = self.keys.look()
        self.gate.replace(self.keys.read(), self.defaults)

    def start(self) -> None:
        """Begin; the files have been looked at once when this returns."""
        self.look()
        self.sync()
        self._close()  # SQLite wants each thread to open its own
        self._thread = threading.Thread(target=self._run, name="keys", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the rest, and end."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(END)

    def look(self) -> None:
        """Take up the keys if their file has changed; while it is broken, those of before stay."""
        state = self.keys.look()
        if state == self._state:
            return
        try:
            self.gate.replace(self.keys.read(), self.defaults)
        except KeyFileError as error:
            # Somebody may be writing it just now: it is told once it has stood still.
            if state == self._doubted:
                self._state = state
                self._log.error("keys stay as they were", why=str(error))
            self._doubted = state
            return
        self._state = state
        self._log.info("keys read", file=str(self.keys.path))

    def sync(self) -> None:
        """Write what was used, and read what all used."""
        gate = self.gate
        batch = gate.ledger.take()
        try:
            book = self._opened()
            last, budgets = self._last, gate.budgets()
            now, steady = gate.clock(), gate.steady()
            book.write(batch, self._writer, now, steady)
            version = book.version()
            if not batch.minutes and last.fits(version, budgets, steady):
                return
            seen = book.seen(self._writer, steady, budgets, last.known(batch, steady))
        except (sqlite3.Error, OSError) as error:
            gate.ledger.give_back()
            self._close()
            if not self._failing:
                self._failing = True
                self._log.error("usage is counted in memory", file=str(self.usage), why=str(error))
            return
        gate.ledger.settle(seen)
        self._last = _Last(version, budgets, steady, seen.spent)
        if self._failing:
            self._failing = False
            self._log.info("usage is written again", file=str(self.usage))

    def _opened(self) -> Book:
        if self._book is not None and not self._book.is_there():
            self._close()
        if self._book is None:
            self._book = Book(self.usage)
        return self._book

    def _close(self) -> None:
        book, self._book, self._last = self._book, None, _Last()
        if book is not None:
            book.close()

    def _run(self) -> None:
        while not self._ending.wait(LOOK):
            self._turn()
        self._turn()
        self._close()

    def _turn(self) -> None:
        try:
            self.look()
            self.sync()
        except Exception as error:  # noqa: BLE001  a fault of ours must not leave revoked keys in use for ever
            self._log.error("fault", notes=["in the thread of plugin 'keys'"], exc_info=error)
