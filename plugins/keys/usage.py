"""What keys used, for whoever asks: read from the file that the workers write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from plugins.keys.book import KEEP, Book
from plugins.keys.entry import Key
from plugins.keys.ledger import Counts
from plugins.keys.limits import Limits
from plugins.keys.moments import DAY, MINUTE, period_start


class UsageError(Exception):
    """The file cannot be read; the text is one line."""


@attrs.frozen
class KeyUsage:
    """What one key used, and what it used of its budget in the current period (`budget` 0: it has none)."""

    key: Key
    counts: Counts
    budget: int
    period: str
    spent: int

    def value(self) -> dict[str, Any]:
        """As JSON."""
        left = {"budget_tokens": self.budget, "budget_period": self.period, "budget_spent": self.spent}
        return {"id": self.key.id, "name": self.key.name, **attrs.asdict(self.counts), **(left if self.budget else {})}


def usage_of(keys: Iterable[Key], defaults: Limits, path: Path, seconds: float, now: float) -> list[KeyUsage]:
    """What the keys used in the last `seconds`, by full minutes, or days where minutes are not kept so long.

    `now` is Unix time. Raises UsageError.
    """
    if not path.exists():  # nobody has served with it yet
        return [_usage(key, defaults, Counts(), 0) for key in keys]
    days = seconds > KEEP
    since = (now - seconds) // (DAY if days else MINUTE) * (DAY if days else MINUTE)
    try:
        with closing(Book(path)) as book:
            counts: dict[str, Counts] = {}
            for row in book.rows(since, days=days):
                counts.setdefault(row.key, Counts()).add(row.counts)
            return [
                _usage(key, defaults, counts.get(key.id, Counts()), book.tokens(key.id, _start(key, defaults, now)))
                for key in keys
            ]
    except (sqlite3.Error, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _start(key: Key, defaults: Limits, now: float) -> int:
    return period_start(key.limits(defaults).budget_period, now)


def _usage(key: Key, defaults: Limits, counts: Counts, spent: int) -> KeyUsage:
    limits = key.limits(defaults)
    return KeyUsage(key, counts, limits.budget_tokens, limits.budget_period, spent)
