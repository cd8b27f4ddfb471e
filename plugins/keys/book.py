"""What was used, on disk: an SQLite file that all workers of a host write and read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs

from plugins.keys.ledger import Batch, Counts, Seen, Spent
from plugins.keys.moments import DAY
from plugins.keys.window import WINDOW

VERSION: Final = 1
PATIENCE: Final = 2.0
"""Seconds that another process may have the file locked."""
KEEP: Final = 35 * DAY
"""Seconds for which minutes are kept; days are kept for ever."""

_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS minutes (key TEXT, begin INTEGER, requests INTEGER, refused INTEGER, input INTEGER,
    output INTEGER, PRIMARY KEY (key, begin)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS minutes_by_begin ON minutes (begin);
CREATE TABLE IF NOT EXISTS days (key TEXT, begin INTEGER, requests INTEGER, refused INTEGER, input INTEGER,
    output INTEGER, PRIMARY KEY (key, begin)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recent (writer TEXT, key TEXT, second INTEGER, requests INTEGER, tokens INTEGER,
    PRIMARY KEY (writer, key, second)) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
COMMIT;
"""
_ADD: Final = """INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key, begin) DO UPDATE SET
    requests = requests + excluded.requests, refused = refused + excluded.refused,
    input = input + excluded.input, output = output + excluded.output"""
_RECENT: Final = """INSERT INTO recent VALUES (?, ?, ?, ?, ?) ON CONFLICT (writer, key, second) DO UPDATE SET
    requests = requests + excluded.requests, tokens = tokens + excluded.tokens"""


@attrs.frozen
class Row:
    """What one key used in the minute or day that began at `begin` (Unix time)."""

    key: str
    begin: int
    counts: Counts


class Book:
    """The file, open; one thread may use it. Every method blocks and raises sqlite3.Error or OSError."""

    def __init__(self, path: Path, *, patience: float = PATIENCE) -> None:
        self.path = path
        with suppress(FileExistsError):  # for its owner alone, as SQLite makes the files beside it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        self._file = path.stat().st_ino
        self._base = sqlite3.connect(path, timeout=patience, isolation_level=None)
        try:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._prepare()
        except BaseException:
            self._base.close()
            raise

    def close(self) -> None:
        """Close it; what was written stays."""
        self._base.close()

    def is_there(self) -> bool:
        """Whether the file still has its name: one that was removed or replaced takes what nobody will read."""
        try:
            return self.path.stat().st_ino == self._file
        except OSError:
            return False

    def write(self, batch: Batch, writer: str, now: float, steady: float) -> None:
        """Add a batch, all of it or nothing; `writer` is the process, other than any other. `now` is Unix time."""
        if not batch.minutes and not batch.seconds:
            return
        rows = [(key, begin, *attrs.astuple(counts)) for (key, begin), counts in batch.minutes.items()]
        seconds = [(writer, key, second, *amounts) for (key, second), amounts in batch.seconds.items()]
        with self._changing():
            self._base.executemany(_ADD.format(table="minutes"), rows)
            self._base.executemany(
                _ADD.format(table="days"), [(key, begin // DAY * DAY, *rest) for key, begin, *rest in rows]
            )
            self._base.executemany(_RECENT, seconds)
            # What is later than now is of the time before the machine started anew.
            self._base.execute("DELETE FROM recent WHERE second <= ? OR second > ?", (steady - WINDOW, steady + 5))
            self._base.execute("DELETE FROM minutes WHERE begin < ?", (now - KEEP,))

    def version(self) -> int:
        """Another number once another process has written since."""
        return int(self._base.execute("PRAGMA data_version").fetchone()[0])

    def seen(self, writer: str, steady: float, budgets: Mapping[str, int], known: Spent | None = None) -> Seen:
        """What other writers counted lately, and the tokens of each key since the beginning that `budgets` has.

        `known` are sums to which this process has added nothing since: those are read again of whom others wrote.
        """
        chosen = "SELECT key, second, SUM(requests), SUM(tokens) FROM recent WHERE writer <> ? AND second > ?"
        found = self._base.execute(f"{chosen} AND second <= ? GROUP BY key, second", (writer, steady - WINDOW, steady))
        others: dict[str, list[tuple[int, int, int]]] = {}
        for key, *amounts in found:
            others.setdefault(key, []).append((amounts[0], amounts[1], amounts[2]))
        kept = {key: spent for key, spent in (known or {}).items() if key not in others}
        spent = {
            key: kept[key] if key in kept and kept[key][0] == start else (start, self.tokens(key, start))
            for key, start in budgets.items()
        }
        return Seen(spent, {key: tuple(rows) for key, rows in others.items()})

    def tokens(self, key: str, start: int) -> int:
        """All tokens of a key from the day on that begins at `start`."""
        asked = "SELECT COALESCE(SUM(input + output), 0) FROM days WHERE key = ? AND begin >= ?"
        (tokens,) = self._base.execute(asked, (key, start)).fetchone()
        return int(tokens)

    def rows(self, since: float, *, days: bool = False) -> Sequence[Row]:
        """What all keys used in the minutes (`days`: the days) that began at `since` or later."""
        table = "days" if days else "minutes"
        asked = f"SELECT * FROM {table} WHERE begin >= ? ORDER BY begin, key"  # noqa: S608  one of two names of ours
        with closing(self._base.execute(asked, (since,))) as found:
            return [Row(key, begin, Counts(*counts)) for key, begin, *counts in found]

    def _prepare(self) -> None:
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise sqlite3.DatabaseError(f"it was written by a newer hookline (version {version})")
        if version < VERSION:
            self._base.executescript(_SCHEMA)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._base.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._base.execute("ROLLBACK")
            raise
