from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st

from plugins.fetch_urls.errors import FetchError
from plugins.fetch_urls.kept import ENTRY, FAILED, Kept
from plugins.fetch_urls.kinds import Fetched, Wanted


@attrs.define
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def image(name: str) -> Wanted:
    return Wanted("image", name)


A, B, C = map(image, "abc")
FILE = Fetched("image/png", "x" * 1000)
WEIGHT = ENTRY + 1 + 1000


def test_a_file_is_kept_for_its_time() -> None:
    clock = Clock()
    kept = Kept(10_000, 300, clock)
    kept.put(A, FILE)
    clock.now = 299.0
    assert kept.get(A) is FILE
    clock.now = 300.0
    assert kept.get(A) is None
    assert kept.get(Wanted("document", "a")) is None


def test_a_failure_is_kept_for_less() -> None:
    clock = Clock()
    kept = Kept(10_000, 300, clock)
    error = FetchError("no")
    kept.put(A, error)
    clock.now = FAILED - 1
    assert kept.get(A) is error
    clock.now = FAILED
    assert kept.get(A) is None


def test_a_failure_takes_no_file_s_place() -> None:
    clock = Clock()
    kept = Kept(10_000, 300, clock)
    kept.put(A, FILE)
    kept.put(A, FetchError("late"))
    assert kept.get(A) is FILE
    clock.now = 300.0
    kept.put(A, error := FetchError("no"))
    assert kept.get(A) is error
    kept.put(A, FILE)
    assert kept.get(A) is FILE


def test_what_was_used_longest_ago_makes_room() -> None:
    kept = Kept(2 * WEIGHT, 300, Clock())
    kept.put(A, FILE)
    kept.put(B, FILE)
    assert kept.get(A) is FILE
    kept.put(C, FILE)
    assert [kept.get(each) for each in (A, B, C)] == [FILE, None, FILE]


def test_what_is_larger_than_all_the_room_is_not_kept() -> None:
    kept = Kept(WEIGHT - 1, 300, Clock())
    kept.put(A, FILE)
    assert kept.get(A) is None
    none = Kept(0, 300, Clock())
    none.put(A, FetchError("no"))
    assert none.get(A) is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3000), st.floats(0, 200))))
def test_there_is_never_more_than_the_size(steps: list[tuple[str, int, float]]) -> None:
    clock, size = Clock(), 6000
    kept = Kept(size, 300, clock)
    for name, length, pause in steps:
        clock.now += pause
        kept.put(image(name), Fetched("image/png", "x" * length))
        kept.get(image("a"))
        weights = [entry.weight for entry in kept._entries.values()]
        assert sum(weights) == size - kept._room <= size
