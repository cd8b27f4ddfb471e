from __future__ import annotations

import sqlite3
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from core import GatewayError
from plugins.keys.book import Book
from plugins.keys.gate import Gate
from plugins.keys.keeper import Keeper
from plugins.keys.key_file import KeyFile, KeyFileError
from plugins.keys.ledger import Counts, Seen, Spent
from plugins.keys.limits import Limits
from plugins.keys.token import Token
from tests.plugins.keys.samples import Clock, asking, made, recorded, written
from tests.server.processes import wait_until


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(tmp_path: Path, clock: Clock) -> Iterator[Keeper]:
    keeper = keeper_of(tmp_path, clock)
    yield keeper
    keeper.stop()
    keeper._close()


def keeper_of(folder: Path, clock: Clock) -> Keeper:
    file = KeyFile(folder / "keys.json")
    if not file.path.exists():
        written(file.path)
    keeper = Keeper(Gate(clock=clock.now, steady=clock.steady), Limits(), file, folder / "usage.sqlite3")
    keeper.load()
    return keeper


def lets_in(keeper: Keeper, token: Token) -> bool:
    http = asking(token)
    try:
        keeper.gate.leave(keeper.gate.enter(http, recorded(http)), 3, 4)
    except GatewayError:
        return False
    return True


def events(logs: list[MutableMapping[str, Any]]) -> list[object]:
    return [line["event"] for line in logs]


def test_a_changed_file_is_taken_up_with_one_look(keeper: Keeper) -> None:
    key, token = made()
    assert not lets_in(keeper, token)
    keeper.keys.change(lambda _: (key,))
    keeper.look()
    assert lets_in(keeper, token)
    keeper.keys.change(lambda _: ())
    with capture_logs() as logs:
        keeper.look()
        keeper.look()
    assert not lets_in(keeper, token)
    assert events(logs) == ["keys read"]


@pytest.mark.parametrize("how", ["broken", "empty", "gone", "open"])
def test_a_broken_file_keeps_the_keys_and_is_told_once(keeper: Keeper, how: str) -> None:
    key, token = made()
    keeper.keys.change(lambda _: (key,))
    keeper.look()
    path = keeper.keys.path
    whole = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "open":
        path.chmod(0o666)
    else:
        path.write_bytes(whole[:40] if how == "broken" else b"")
    with capture_logs() as logs:
        keeper.look()
        assert logs == []  # somebody may be writing it
        for _ in range(5):
            keeper.look()
    assert events(logs) == ["keys stay as they were"]
    assert str(path) in logs[0]["why"]
    assert key.sha256 not in str(logs)
    assert lets_in(keeper, token)
    path.write_bytes(b'{"format": 1, "keys": []}')
    path.chmod(0o600)
    keeper.look()
    assert not lets_in(keeper, token)


def test_a_file_that_is_written_bit_by_bit_is_taken_when_it_is_whole(keeper: Keeper) -> None:
    key, token = made()
    other = written(keeper.keys.path.with_name("other"), key)
    whole = other.path.read_bytes()
    with capture_logs() as logs:
        for size in (10, 100, len(whole)):
            keeper.keys.path.write_bytes(whole[:size])
            keeper.look()
    assert events(logs) == ["keys read"]
    assert lets_in(keeper, token)


def test_loading_raises_what_is_wrong(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(KeyFileError, match="no such file"):
        Keeper(Gate(), Limits(), KeyFile(tmp_path / "none"), tmp_path / "u").load()


def test_two_workers_see_each_other_after_a_turn(tmp_path: Path, clock: Clock) -> None:
    key, token = made(requests_per_minute=2, budget_tokens=14)
    written(tmp_path / "keys.json", key)
    one, two = keeper_of(tmp_path, clock), keeper_of(tmp_path, clock)
    assert lets_in(one, token)
    one.sync()
    two.sync()
    assert lets_in(two, token)
    assert not lets_in(two, token)
    two.sync()
    one.sync()
    assert not lets_in(one, token)
    clock.go(61)
    assert not lets_in(one, token)  # the budget is used up
    for each in (one, two):
        each._close()
    assert [row.counts for row in usage(tmp_path)] == [Counts(2, 1, 6, 8)]


def usage(folder: Path) -> list:  # type: ignore[type-arg]
    book = Book(folder / "usage.sqlite3")
    rows = list(book.rows(0))
    book.close()
    return rows


def test_nothing_is_read_while_nothing_happens(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    key, token = made(budget_tokens=14, budget_period="day")
    written(tmp_path / "keys.json", key)
    one, two = keeper_of(tmp_path, clock), keeper_of(tmp_path, clock)
    one.sync()
    looks: list[float] = []
    true = Book.seen

    def seen(self: Book, writer: str, steady: float, budgets: dict[str, int], known: Spent) -> Seen:
        looks.append(steady)
        return true(self, writer, steady, budgets, known)

    monkeypatch.setattr(Book, "seen", seen)
    one.sync()
    assert looks == []
    assert lets_in(two, token)
    assert lets_in(two, token)
    two.sync()
    looks.clear()
    one.sync()
    one.sync()
    assert len(looks) == 1
    assert not lets_in(one, token)
    clock.go(86400)
    one.sync()
    assert len(looks) == 2
    assert lets_in(one, token)
    for each in (one, two):
        each._close()


def test_a_restart_forgets_neither_rate_nor_budget(tmp_path: Path, clock: Clock) -> None:
    key, token = made(requests_per_minute=1)
    written(tmp_path / "keys.json", key)
    before = keeper_of(tmp_path, clock)
    assert lets_in(before, token)
    before.sync()
    before._close()
    after = keeper_of(tmp_path, clock)
    after.sync()
    assert not lets_in(after, token)
    clock.go(60)
    assert lets_in(after, token)
    after._close()


@pytest.mark.parametrize("how", ["locked", "folder", "garbage", "full"])
def test_a_usage_file_that_fails_stops_nothing(
    tmp_path: Path, clock: Clock, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, token = made(requests_per_minute=3)
    written(tmp_path / "keys.json", key)
    keeper = keeper_of(tmp_path, clock)
    monkeypatch.setattr("plugins.keys.book.PATIENCE", 0.01)
    path = keeper.usage
    other = None
    if how == "locked":
        Book(path).close()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr("plugins.keys.keeper.Book", lambda path: Book(path, patience=0.01))
    elif how == "folder":
        path.mkdir()
    elif how == "garbage":
        path.write_bytes(b"x" * 5000)
    else:
        monkeypatch.setattr(Book, "write", fails)
    with capture_logs() as logs:
        for _ in range(3):
            assert lets_in(keeper, token)
            keeper.sync()
    assert events(logs) == ["usage is counted in memory"]
    assert not lets_in(keeper, token)
    if other is not None:
        other.execute("ROLLBACK")
        other.close()
        with capture_logs() as logs:
            keeper.sync()
        assert events(logs) == ["usage is written again"]
        assert [row.counts for row in usage(tmp_path)] == [Counts(3, 1, 9, 12)]
    keeper._close()


def fails(*_: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def test_a_usage_file_that_was_removed_is_made_again(keeper: Keeper) -> None:
    key, token = made()
    keeper.keys.change(lambda _: (key,))
    keeper.look()
    for _ in range(2):
        lets_in(keeper, token)
        keeper.sync()
        assert [row.counts.requests for row in usage(keeper.usage.parent)] == [1]
        for path in keeper.usage.parent.glob("usage.sqlite3*"):
            path.unlink()


def test_the_thread_does_both_and_writes_the_rest_at_its_end(keeper: Keeper) -> None:
    key, token = made()
    keeper.start()
    keeper.keys.change(lambda _: (key,))
    wait_until(lambda: lets_in(keeper, token))
    wait_until(lambda: bool(usage(keeper.usage.parent)))
    lets_in(keeper, token)
    keeper.stop()
    assert sum(row.counts.requests for row in usage(keeper.usage.parent)) == 2
    assert keeper._thread is not None
    assert not keeper._thread.is_alive()


def test_a_fault_of_ours_does_not_end_the_thread(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> dict[str, int]:
        raise ValueError("a fault")

    monkeypatch.setattr(Gate, "budgets", lambda _: broken())
    with capture_logs() as logs:
        keeper._turn()
    assert events(logs) == ["fault"]
