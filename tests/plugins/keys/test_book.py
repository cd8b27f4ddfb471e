from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins.keys.book import KEEP, Book, Row
from plugins.keys.ledger import Batch, Counts
from plugins.keys.moments import DAY

NOW = 1_800_000_000.0


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    book = Book(tmp_path / "usage.sqlite3")
    yield book
    book.close()


def batch_of(*counts: tuple[str, Counts], now: float = NOW, steady: float = 100) -> Batch:
    batch = Batch()
    for key, each in counts:
        batch.add(key, now, steady, each)
    return batch


def test_the_file_is_its_owners_alone(book: Book) -> None:
    book.write(batch_of(("a", Counts(1))), "w", NOW, 100)
    files = list(book.path.parent.iterdir())
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert len(files) == 3  # SQLite's own two beside it


def test_what_was_written_adds_up_by_minute_and_by_day(book: Book) -> None:
    minute, day = int(NOW) // 60 * 60, int(NOW) // DAY * DAY
    book.write(batch_of(("a", Counts(1, 0, 5, 6)), ("b", Counts(0, 1))), "w", NOW, 100)
    book.write(batch_of(("a", Counts(1, 0, 1, 1))), "v", NOW, 100)
    book.write(batch_of(("a", Counts(1)), now=NOW + 60), "v", NOW, 100)
    a = Counts(2, 0, 6, 7)
    assert book.rows(0) == [Row("a", minute, a), Row("b", minute, Counts(0, 1)), Row("a", minute + 60, Counts(1))]
    assert book.rows(minute + 60) == [Row("a", minute + 60, Counts(1))]
    assert book.rows(0, days=True) == [Row("a", day, Counts(3, 0, 6, 7)), Row("b", day, Counts(0, 1))]
    assert (book.tokens("a", day), book.tokens("a", day + DAY), book.tokens("c", 0)) == (13, 0, 0)


def test_it_shows_what_others_did_in_the_last_minute_and_the_budgets(book: Book) -> None:
    for writer, steady in (("w", 100), ("v", 100), ("u", 100), ("v", 130)):
        book.write(batch_of(("a", Counts(1, 0, 5, 0)), steady=steady), writer, NOW, steady)
    seen = book.seen("w", 131, {"a": 0, "b": 0})
    assert seen.others == {"a": ((100, 2, 10), (130, 1, 5))}
    assert seen.spent == {"a": (0, 20), "b": (0, 0)}
    assert book.seen("w", 160, {}).others == {"a": ((130, 1, 5),)}


def test_after_a_restart_of_the_machine_its_clock_is_younger_than_the_rows(book: Book) -> None:
    book.write(batch_of(("a", Counts(1)), steady=90_000), "w", NOW, 90_000)
    assert book.seen("v", 30, {}).others == {}
    book.write(batch_of(("a", Counts(1)), steady=30), "v", NOW, 30)
    assert book.seen("u", 30, {}).others == {"a": ((30, 1, 0),)}


def test_minutes_go_after_a_while_and_days_stay(book: Book) -> None:
    book.write(batch_of(("a", Counts(1, 0, 7))), "w", NOW, 100)
    book.write(batch_of(("a", Counts(1)), now=NOW + KEEP + 120), "w", NOW + KEEP + 120, 100)
    assert [row.begin for row in book.rows(0)] == [int(NOW + KEEP + 120) // 60 * 60]
    assert len(book.rows(0, days=True)) == 2
    assert book.tokens("a", 0) == 7


def test_an_empty_batch_writes_nothing(book: Book) -> None:
    with sqlite3.connect(book.path, timeout=0) as other:
        other.execute("BEGIN IMMEDIATE")
        book.write(Batch(), "w", NOW, 100)
        other.rollback()
    other.close()
    assert book.rows(0) == []


def test_a_locked_file_is_an_error_and_nothing_of_the_batch_is_there(tmp_path: Path) -> None:
    book = Book(tmp_path / "u", patience=0.01)
    other = sqlite3.connect(book.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        book.write(batch_of(("a", Counts(1))), "w", NOW, 100)
    other.execute("ROLLBACK")
    other.close()
    assert book.rows(0) == []
    book.write(batch_of(("a", Counts(1))), "w", NOW, 100)
    assert len(book.rows(0)) == 1
    book.close()


@pytest.mark.parametrize("data", [b"no database at all, only text\n" * 100, b"SQLite format 3\x00" + b"\xff" * 4000])
def test_another_file_is_an_error_and_stays_as_it_is(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "u"
    path.write_bytes(data)
    with pytest.raises(sqlite3.DatabaseError):
        Book(path)
    assert path.read_bytes() == data


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "u")
    base.execute("PRAGMA user_version = 9")
    base.close()
    with pytest.raises(sqlite3.DatabaseError, match="a newer hookline"):
        Book(tmp_path / "u")


def test_a_file_that_is_gone_or_another_is_noticed(book: Book) -> None:
    assert book.is_there()
    book.path.unlink()
    assert not book.is_there()
    book.path.write_bytes(b"")
    assert not book.is_there()


def work(path: str, writer: str, rounds: int) -> None:
    book = Book(Path(path), patience=30)
    for _ in range(rounds):
        book.write(batch_of(("a", Counts(1, 0, 2, 3))), writer, NOW, 100)
    book.close()


def test_two_processes_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "u"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(str(path), f"w{number}", 50)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    book = Book(path)
    assert [row.counts for row in book.rows(0)] == [Counts(100, 0, 200, 300)]
    assert book.seen("me", 100, {"a": 0}).others == {"a": ((100, 100, 500),)}
    book.close()


def test_many_that_make_the_file_at_once(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def begin(number: int) -> None:
        try:
            work(str(tmp_path / "u"), f"w{number}", 1)
        except (sqlite3.Error, OSError) as error:
            faults.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    book = Book(tmp_path / "u")
    assert book.tokens("a", 0) == 60
    book.close()


def test_known_sums_are_read_again_only_of_those_who_were_active(book: Book) -> None:
    for key in ("a", "b", "c"):
        book.write(batch_of((key, Counts(1, 0, 5))), "w", NOW, 100)
    book.write(batch_of(("b", Counts(1, 0, 5))), "v", NOW, 100)
    known = {"a": (0, 1), "b": (0, 2), "c": (9, 3)}
    assert book.seen("w", 100, {"a": 0, "b": 0, "c": 0, "d": 0}, known).spent == {
        "a": (0, 1),
        "b": (0, 10),
        "c": (0, 5),
        "d": (0, 0),
    }


def test_the_version_changes_when_others_write(book: Book) -> None:
    before = book.version()
    book.write(batch_of(("a", Counts(1))), "w", NOW, 100)
    assert book.version() == before
    other = Book(book.path)
    other.write(batch_of(("a", Counts(1))), "v", NOW, 100)
    other.close()
    assert book.version() != before
