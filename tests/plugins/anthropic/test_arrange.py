from __future__ import annotations

from typing import Any

import pytest

from core import Delta, Model, State, Stop, Text, Thinking, ToolUse, Usage
from plugins.anthropic.arrange import Arranger, kind_of, opens_block

KEPT = State({"a": 1})
END = Stop("end_turn")


def arranged(*deltas: Delta, one_call: bool = False) -> list[Delta]:
    """Fed one by one, and all that was held at the end."""
    arranger = Arranger(one_call)
    found = [delta for fed in deltas for delta in arranger.feed([fed])]
    return [*found, *arranger.end()]


def test_what_needs_no_order_passes() -> None:
    deltas: list[Delta] = [Thinking("a"), KEPT, Text("b"), Usage(1), ToolUse(0, "", "i", "f"), ToolUse(0, "{}"), END]
    assert arranged(*deltas) == deltas
    assert Arranger().feed(deltas) == deltas


def test_a_state_before_thinking_goes_with_it() -> None:
    assert arranged(KEPT, Thinking("a")) == [Thinking("a"), KEPT]


def test_a_state_waits_for_the_end_of_a_text() -> None:
    assert arranged(Text("a"), KEPT, Text("b"), ToolUse(0, "", "i", "f"), END) == [
        Text("a"),
        Text("b"),
        KEPT,
        ToolUse(0, "", "i", "f"),
        END,
    ]


def test_a_state_within_a_call_does_not_cut_it() -> None:
    call: list[Delta] = [ToolUse(0, "", "i", "f"), KEPT, ToolUse(0, "{}"), ToolUse(1, "", "j", "g")]
    assert arranged(*call) == [call[0], call[2], KEPT, call[3]]


def test_what_is_held_at_the_end_comes_once() -> None:
    arranger = Arranger()
    assert arranger.feed([Text("a"), KEPT, END]) == [Text("a"), END]
    assert arranger.end() == [KEPT]
    assert arranger.end() == []


def test_one_call_is_the_first() -> None:
    first = [ToolUse(0, "", "i", "f"), ToolUse(0, "{}")]
    more = [ToolUse(1, "", "j", "g"), ToolUse(1, "{}"), ToolUse(2, "{}", "k", "f")]
    assert arranged(Text("a"), *first, *more, Text("b"), END, one_call=True) == [Text("a"), *first, Text("b"), END]
    assert arranged(*first, *more) == [*first, *more]


def test_ids_of_earlier_calls_are_made_unique_in_calls_and_states() -> None:
    arranger = Arranger(taken={"call_0"})
    deltas: list[Delta] = [
        Thinking("a"),
        State(calls={"call_0": {"v": 1}}),
        ToolUse(0, "", "call_0", "f"),
        ToolUse(0, "{}"),
        State(calls={"call_0": {"w": 2}}),
    ]
    assert [*arranger.feed(deltas), *arranger.end()] == [
        Thinking("a"),
        State(calls={"call_1": {"v": 1}}),
        ToolUse(0, "", "call_1", "f"),
        ToolUse(0, "{}"),
        State(calls={"call_1": {"w": 2}}),
    ]


def test_what_opens_a_block() -> None:
    assert opens_block(Text("x"), None)
    assert opens_block(Text("x"), Thinking)
    assert not opens_block(Text("x"), Text)
    assert opens_block(KEPT, Text)
    assert not opens_block(KEPT, Thinking)
    assert opens_block(ToolUse(1, id="b", name="f"), ToolUse)
    assert not opens_block(ToolUse(1, "{}"), ToolUse)


@pytest.mark.parametrize("kind", [None, Text])
def test_a_piece_of_no_call_is_an_error(kind: Any) -> None:
    with pytest.raises(RuntimeError, match="no id"):
        opens_block(ToolUse(0, "{}"), kind)


def test_a_state_is_of_the_thinking_kind() -> None:
    assert (kind_of(KEPT), kind_of(Text("x"))) == (Thinking, Text)


@pytest.mark.parametrize("wrong", ["abc", [{"a": 1}], [Model("m")], [None]])
def test_what_is_no_delta_is_a_fault_and_never_passed_over(wrong: Any) -> None:
    with pytest.raises(TypeError, match="is no delta of a message"):
        Arranger().feed(wrong)
