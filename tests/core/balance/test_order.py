from __future__ import annotations

import random
from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.balance.order import ordered
from core.route import Candidate

weights = st.floats(0.1, 100)
candidates = st.lists(
    st.builds(
        Candidate,
        st.sampled_from([f"b{number}" for number in range(6)]),
        st.sampled_from(["m", "n"]),
        weight=weights,
        priority=st.integers(0, 2),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda each: (each.backend, each.model),
)
keys = st.text(min_size=1, max_size=40)


@settings(deadline=None)
@given(candidates, keys)
def test_every_candidate_is_there_once_and_the_lowest_priority_first(given: list[Candidate], key: str) -> None:
    for found in (ordered(given, key), ordered(given, "", random.Random(1).random)):
        assert sorted(map(repr, found)) == sorted(map(repr, given))
        assert [each.priority for each in found] == sorted(each.priority for each in given)


@settings(deadline=None)
@given(candidates, keys, st.randoms(use_true_random=False))
def test_one_key_has_one_order(given: list[Candidate], key: str, shuffler: random.Random) -> None:
    other = list(given)
    shuffler.shuffle(other)
    assert ordered(given, key) == ordered(other, key)


@settings(deadline=None)
@given(candidates, keys, st.data())
def test_who_goes_moves_no_one_else(given: list[Candidate], key: str, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(given))
    rest = [each for each in given if each is not gone]
    assert ordered(rest, key) == [each for each in ordered(given, key) if each is not gone]


@settings(deadline=None)
@given(candidates, keys, st.data())
def test_more_weight_moves_nobody_away(given: list[Candidate], key: str, data: st.DataObject) -> None:
    grows = data.draw(st.integers(0, len(given) - 1))
    grown = [attrs.evolve(each, weight=each.weight * 2) if at == grows else each for at, each in enumerate(given)]
    before, after = ordered(given, key), ordered(grown, key)
    assert after.index(grown[grows]) <= before.index(given[grows])


@pytest.mark.parametrize("by_chance", [False, True])
def test_shares_are_as_large_as_the_weights(by_chance: bool) -> None:
    given = [Candidate("a", "m", weight=3), Candidate("b", "m", weight=1), Candidate("c", "m", weight=0.5)]
    chance = random.Random(7).random
    count = 9000
    first = Counter(
        ordered(given, "" if by_chance else f"session {number}", chance)[0].backend for number in range(count)
    )
    for candidate in given:
        assert first[candidate.backend] / count == pytest.approx(candidate.weight / 4.5, abs=0.02)


def test_of_a_vanished_first_the_keys_go_to_the_others_by_weight() -> None:
    given = [Candidate(name, "m", weight=weight) for name, weight in (("a", 2.0), ("b", 2.0), ("c", 1.0))]
    orders = [ordered(given, str(number)) for number in range(6000)]
    second = Counter(order[1].backend for order in orders if order[0].backend == "a")
    assert second["b"] / sum(second.values()) == pytest.approx(2 / 3, abs=0.03)


def test_the_order_is_the_same_in_every_process() -> None:
    given = [Candidate(name, "m") for name in "abcde"]
    assert "".join(each.backend for each in ordered(given, "session")) == "dcabe"


@pytest.mark.parametrize("drawn", [0.0, 1 - 2**-53])
def test_chance_at_its_ends_is_borne(drawn: float) -> None:
    given = [Candidate("a", "m"), Candidate("b", "m", weight=0)]
    assert [each.backend for each in ordered(given, "", lambda: drawn)] == ["a", "b"]


def test_what_is_no_text_is_a_key_too() -> None:
    assert len(ordered([Candidate("a", "m"), Candidate("b", "\ud800")], "\udfff")) == 2
