from __future__ import annotations

import attrs
import pytest

from core import Message, OtherBlock, State, TextBlock, ToolResultBlock, ToolUse, ToolUseBlock
from plugins.anthropic.call_ids import CallIds, ids_of
from tests.plugins.anthropic.folding import REQUEST


def test_the_ids_of_all_calls_and_results() -> None:
    turns = (
        Message("user", (TextBlock("hi"),)),
        Message("assistant", (TextBlock("a"), ToolUseBlock("a", "f"), ToolUseBlock("b", "f"))),
        Message(
            "user", (ToolResultBlock("a"), ToolResultBlock("b"), ToolResultBlock("c"), OtherBlock("x", {"id": "d"}))
        ),
    )
    assert ids_of(attrs.evolve(REQUEST, messages=turns)) == {"a", "b", "c"}
    assert ids_of(REQUEST) == set()


def given(taken: set[str], *ids: str) -> list[str]:
    made = CallIds(taken)
    return [made.call(ToolUse(number, "", identity, "f")).id for number, identity in enumerate(ids)]


@pytest.mark.parametrize(
    ("taken", "ids", "expected"),
    [
        (set(), ["call_0", "call_1"], ["call_0", "call_1"]),
        ({"call_0"}, ["call_0", "call_1"], ["call_1", "call_2"]),
        ({"call_0", "call_1", "call_3"}, ["call_1", "call_0"], ["call_2", "call_4"]),
        ({"functions.f:0"}, ["functions.f:0", "functions.g:1"], ["functions.f:1", "functions.g:1"]),
        ({"0", "1"}, ["0"], ["2"]),
        ({"a", "b_2"}, ["a", "b"], ["a_2", "b"]),
        ({"a", "a_2"}, ["a"], ["a_3"]),
        ({"x007", "x009"}, ["x007", "x009"], ["x008", "x010"]),
        ({"9" * 30}, ["9" * 30], ["9" * 21 + "1000000000"]),
        ({"a٣"}, ["a٣"], ["a٣_2"]),
    ],
)
def test_an_id_that_is_taken_is_counted_up(taken: set[str], ids: list[str], expected: list[str]) -> None:
    assert given(set(taken), *ids) == given(set(taken), *ids) == expected
    assert not taken & set(expected)


def test_a_piece_that_needs_no_other_id_is_the_same() -> None:
    made = CallIds({"b"})
    for piece in (ToolUse(0, "", "a", "f"), ToolUse(0, "{}")):
        assert made.call(piece) is piece


def test_states_name_calls_as_the_client_does() -> None:
    made = CallIds({"0"})
    assert made.state(State({"m": 1}, {"0": {"v": 1}, "x": {}})) == State({"m": 1}, {"1": {"v": 1}, "x": {}})
    assert made.call(ToolUse(0, "", "0", "f")) == ToolUse(0, "", "1", "f")
    assert made.call(ToolUse(1, "", "1", "f")) == ToolUse(1, "", "2", "f")
    assert made.state(State({"m": 1})) == State({"m": 1})


def test_many_turns_take_linear_time() -> None:
    assert given({f"call_{number}" for number in range(100_000)}, "call_0") == ["call_100000"]
