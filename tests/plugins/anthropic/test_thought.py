from __future__ import annotations

from core import State, Thinking
from plugins.anthropic.seal import Sealed
from plugins.anthropic.thought import Thought, joined
from tests.plugins.anthropic.folding import SEAL


def thought(*deltas: Thinking | State) -> Thought:
    made = Thought()
    for delta in deltas:
        made.add(delta)
    return made


def test_the_text_is_sealed_only_where_it_is_not_shown() -> None:
    made = thought(Thinking("a"), Thinking("b"))
    assert made.text == "ab"
    assert SEAL.open(made.signature(SEAL, omitted=True)) == Sealed("ab")
    assert SEAL.open(made.signature(SEAL, omitted=False)) == Sealed()


def test_the_state_is_always_sealed() -> None:
    made = thought(State({"a": [1]}), Thinking("x"), State({"a": [2]}))
    assert SEAL.open(made.signature(SEAL, omitted=False)) == Sealed("", State({"a": [1, 2]}))


def test_states_are_joined_field_by_field() -> None:
    states = [
        State({"list": [1], "text": "a", "odd": [1]}, {"c": {"x": 1, "y": 1}}),
        State({"list": [2], "text": "b", "odd": "s"}, {"c": {"y": 2}, "d": {}}),
    ]
    assert joined(states) == State({"list": [1, 2], "text": "b", "odd": "s"}, {"c": {"x": 1, "y": 2}, "d": {}})
    assert states[0].message["list"] == [1]


def test_nothing_is_nothing() -> None:
    assert joined([]) == State()
