from __future__ import annotations

from core import Candidate, Route


def test_a_route_is_known_by_its_first_candidate() -> None:
    route = Route((Candidate("b", "m"), Candidate("c", "n")))
    assert (route.backend, route.model) == ("b", "m")


def test_candidates_are_the_same_whatever_is_merged_into_their_body() -> None:
    assert Candidate("b", "m", extra_body={"x": 1}) == Candidate("b", "m")


def test_one_of_several_has_the_same_part_as_each_unless_told() -> None:
    assert Candidate("b", "m") == Candidate("b", "m", weight=1.0, priority=0) != Candidate("b", "m", weight=2.0)
