from __future__ import annotations

from typing import Any

import pytest

from core import Candidate
from plugins.models.entry import Entry


def test_a_candidate_has_all_that_the_entry_says() -> None:
    entry = Entry("one", "up", "Name", 10, 20, {"a": 1}, 2.5, 3)
    found = entry.candidate("m")
    assert found == Candidate("one", "up", 10, 20, weight=2.5, priority=3)
    assert found.extra_body == {"a": 1}


def test_without_a_model_the_clients_name_goes_on() -> None:
    assert Entry("one").candidate("m") == Candidate("one", "m")
    assert (Entry("one").model_for("m"), Entry("one", "up").model_for("m")) == ("m", "up")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"weight": 0.0}, "'weight' must be > 0"),
        ({"weight": -1.0}, "'weight' must be > 0"),
        ({"weight": float("nan")}, "'weight' must be > 0"),
        ({"weight": float("inf")}, "'weight' must be < inf"),
        ({"priority": -1}, "'priority' must be >= 0"),
        ({"context": 0}, "'context' must be >= 1"),
        ({"max_output_tokens": 0}, "'max_output_tokens' must be >= 1"),
    ],
)
def test_numbers_have_their_bounds(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Entry("one", **changes)
