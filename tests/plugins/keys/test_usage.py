from __future__ import annotations

from pathlib import Path

import pytest

from plugins.keys.book import KEEP, Book
from plugins.keys.ledger import Batch, Counts
from plugins.keys.limits import Limits
from plugins.keys.usage import UsageError, usage_of
from tests.plugins.keys.samples import made

NOW = 1_800_000_000.0


def test_what_keys_used_and_what_is_left(tmp_path: Path) -> None:
    one, _ = made("one", budget_tokens=100, budget_period="total")
    two, _ = made("two")
    book = Book(tmp_path / "u")
    for key, now, counts in (
        (one, NOW - 50 * 86400, Counts(5, 0, 30, 5)),
        (one, NOW - 3000, Counts(1, 0, 3, 4)),
        (two, NOW - 30, Counts(1, 2)),
    ):
        batch = Batch()
        batch.add(key.id, now, 100, counts)
        book.write(batch, "w", now, 100)
    book.close()
    hour = usage_of([one, two], Limits(), tmp_path / "u", 3600, NOW)
    assert [each.counts for each in hour] == [Counts(1, 0, 3, 4), Counts(1, 2)]
    assert [each.spent for each in hour] == [42, 0]
    assert hour[0].value() == {
        "id": one.id,
        "name": "one",
        "requests": 1,
        "refused": 0,
        "input": 3,
        "output": 4,
        "budget_tokens": 100,
        "budget_period": "total",
        "budget_spent": 42,
    }
    assert "budget_tokens" not in hour[1].value()
    minute = usage_of([one], Limits(), tmp_path / "u", 60, NOW)
    assert minute[0].counts == Counts()
    long = usage_of([one], Limits(), tmp_path / "u", KEEP * 2, NOW)
    assert long[0].counts == Counts(6, 0, 33, 9)


def test_without_a_file_nothing_was_used_and_none_is_made(tmp_path: Path) -> None:
    key, _ = made()
    assert usage_of([key], Limits(), tmp_path / "u", 60, NOW)[0].counts == Counts()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "u").write_bytes(b"x" * 5000)
    with pytest.raises(UsageError, match="u cannot be read: file is not a database"):
        usage_of([], Limits(), tmp_path / "u", 60, NOW)
