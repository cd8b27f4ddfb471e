"""What was used, in memory: what is not written yet, and what was read of all that is. Two threads share it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

import attrs

from plugins.keys.moments import DAY, MINUTE
from plugins.keys.window import WINDOW, Second

MOST: Final = 20_000
"""Rows that wait to be written; where they cannot be and there are more, minutes become days."""


@attrs.define
class Counts:
    """Requests that were let in, those that were over a limit, and tokens."""

    requests: int = 0
    refused: int = 0
    input: int = 0
    output: int = 0

    def add(self, other: Counts) -> None:
        """Count what the other has, too."""
        self.requests += other.requests
        self.refused += other.refused
        self.input += other.input
        self.output += other.output


@attrs.frozen(eq=False)
class Batch:
    """Rows to write: counts by key and minute (Unix time), and requests and tokens by key and monotonic second."""

    minutes: dict[tuple[str, int], Counts] = attrs.field(factory=dict)
    seconds: dict[tuple[str, int], tuple[int, int]] = attrs.field(factory=dict)
    tokens: Counter[str] = attrs.field(factory=Counter)
    """All tokens by key."""

    def add(self, key: str, now: float, steady: float, counts: Counts) -> None:
        """Count what happened to a key: `now` is Unix time, `steady` the monotonic clock's."""
        self.minutes.setdefault((key, int(now) // MINUTE * MINUTE), Counts()).add(counts)
        used = counts.input + counts.output
        if counts.requests or used:
            requests, tokens = self.seconds.get((key, int(steady)), (0, 0))
            self.seconds[key, int(steady)] = (requests + counts.requests, tokens + used)
            self.tokens[key] += used

    def take(self, other: Batch) -> None:
        """Add another one's rows, those that still matter."""
        for (key, begin), counts in other.minutes.items():
            self.minutes.setdefault((key, begin), Counts()).add(counts)
        self.tokens.update(other.tokens)
        for place, (requests, tokens) in other.seconds.items():
            had = self.seconds.get(place, (0, 0))
            self.seconds[place] = (had[0] + requests, had[1] + tokens)
        latest = max((second for _, second in self.seconds), default=0)
        for place in [place for place in self.seconds if place[1] <= latest - WINDOW]:
            del self.seconds[place]
        if len(self.minutes) > MOST:
            self._fold()

    def _fold(self) -> None:
        rows, folded = dict(self.minutes), self.minutes
        folded.clear()
        for (key, minute), counts in rows.items():
            folded.setdefault((key, minute // DAY * DAY), Counts()).add(counts)


Spent = Mapping[str, tuple[int, int]]
"""Tokens by key, each behind the Unix time at which their period began."""


@attrs.frozen(eq=False)
class Seen:
    """What the file said last: tokens by key with the beginning of their period, and what other processes counted in
    the last minute, as (second, requests, tokens)."""

    spent: Spent = attrs.field(factory=dict)
    others: Mapping[str, tuple[tuple[int, int, int], ...]] = attrs.field(factory=dict)


class Ledger:
    """The numbers of one process: those that wait, those that are being written, and what was seen of the others'."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = Batch()
        self._writing = Batch()
        self._seen = Seen()

    def count(self, key: str, now: float, steady: float, counts: Counts) -> None:
        """Count what happened to a key."""
        with self._lock:
            self._waiting.add(key, now, steady, counts)

    def spent(self, key: str, start: int) -> int:
        """The key's tokens in the period that began at `start`; what is not written yet is taken for this period's."""
        with self._lock:
            begin, tokens = self._seen.spent.get(key, (start, 0))
            written = tokens if begin == start else 0
            return written + self._waiting.tokens[key] + self._writing.tokens[key]

    def others(self, key: str, what: Literal["requests", "tokens"]) -> list[Second]:
        """What other processes counted, by second."""
        position = 1 if what == "requests" else 2
        return [(each[0], each[position]) for each in self._seen.others.get(key, ())]

    def take(self) -> Batch:
        """What is to be written; until `settle` or `give_back` it counts as before."""
        with self._lock:
            self._writing.take(self._waiting)
            self._waiting = Batch()
            return self._writing

    def settle(self, seen: Seen) -> None:
        """It was written, and is in what was seen since."""
        with self._lock:
            self._writing, self._seen = Batch(), seen

    def give_back(self) -> None:
        """It could not be written: it waits on."""
        with self._lock:
            self._writing.take(self._waiting)
            self._waiting, self._writing = self._writing, Batch()
