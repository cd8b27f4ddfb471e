from __future__ import annotations

from plugins.keys.ledger import MOST, Batch, Counts, Ledger, Seen


def used(tokens: int = 0, requests: int = 0) -> Counts:
    return Counts(requests=requests, input=tokens)


def test_rows_are_by_key_minute_and_second() -> None:
    ledger = Ledger()
    ledger.count("a", 121, 10.5, Counts(requests=1))
    ledger.count("a", 150, 10.9, Counts(input=3, output=4))
    ledger.count("a", 180, 11.0, Counts(refused=1))
    ledger.count("b", 121, 10.5, Counts(requests=1))
    batch = ledger.take()
    assert batch.minutes == {
        ("a", 120): Counts(1, 0, 3, 4),
        ("a", 180): Counts(0, 1),
        ("b", 120): Counts(1),
    }
    assert batch.seconds == {("a", 10): (1, 7), ("b", 10): (1, 0)}


def test_nothing_is_lost_and_nothing_counts_twice_on_its_way_to_the_file() -> None:
    ledger = Ledger()
    ledger.count("a", 0, 0, used(5))
    assert ledger.spent("a", 0) == 5
    ledger.take()
    ledger.count("a", 0, 0, used(2))
    assert ledger.spent("a", 0) == 7
    ledger.settle(Seen({"a": (0, 105)}))
    assert ledger.spent("a", 0) == 107
    ledger.take()
    ledger.settle(Seen({"a": (0, 107)}))
    assert ledger.spent("a", 0) == 107


def test_what_could_not_be_written_waits_on() -> None:
    ledger = Ledger()
    ledger.count("a", 60, 5, used(1, 1))
    ledger.take()
    ledger.count("a", 60, 6, used(2, 1))
    ledger.give_back()
    assert ledger.spent("a", 0) == 3
    batch = ledger.take()
    assert batch.minutes == {("a", 60): used(3, 2)}
    assert batch.seconds == {("a", 5): (1, 1), ("a", 6): (1, 2)}


def test_a_new_period_begins_at_nothing() -> None:
    ledger = Ledger()
    ledger.settle(Seen({"a": (0, 100)}))
    assert (ledger.spent("a", 0), ledger.spent("a", 86400), ledger.spent("b", 0)) == (100, 0, 0)


def test_others_by_second() -> None:
    ledger = Ledger()
    ledger.settle(Seen(others={"a": ((5, 2, 30), (6, 1, 0))}))
    assert ledger.others("a", "requests") == [(5, 2), (6, 1)]
    assert ledger.others("a", "tokens") == [(5, 30), (6, 0)]
    assert ledger.others("b", "tokens") == []


def test_a_file_that_fails_for_long_does_not_fill_the_memory() -> None:
    ledger = Ledger()
    for minute in range(MOST + 10):
        ledger.count("a", minute * 60, minute * 60, used(1, 1))
        if minute % 5000 == 0 or minute > MOST:
            ledger.take()
            ledger.give_back()
    batch = ledger.take()
    assert len(batch.minutes) <= MOST / 1440 + 20
    assert len(batch.seconds) == 1
    assert sum(each.requests for each in batch.minutes.values()) == MOST + 10
    assert ledger.spent("a", 0) == batch.tokens["a"] == MOST + 10


def test_batches_add_up() -> None:
    one, other = Batch(), Batch()
    one.add("a", 0, 0, used(1))
    other.add("a", 0, 0, used(2))
    one.take(other)
    assert (one.tokens["a"], one.seconds[("a", 0)]) == (3, (0, 3))
