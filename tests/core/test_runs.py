from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.deltas import Delta, State, Stop, Text, Thinking, ToolUse, Usage
from core.runs import joined_runs


@pytest.mark.parametrize(
    ("deltas", "joined"),
    [
        ([], []),
        ([Text("a")], [Text("a")]),
        ([Text("a"), Text("b"), Text("c")], [Text("abc")]),
        ([Thinking("a"), Thinking("b"), Text("c"), Thinking("d")], [Thinking("ab"), Text("c"), Thinking("d")]),
        ([Text("a"), Usage(1), Text("b")], [Text("a"), Usage(1), Text("b")]),
        ([Thinking("a"), State({"x": 1}), Thinking("b")], [Thinking("a"), State({"x": 1}), Thinking("b")]),
        (
            [ToolUse(0, "{", "id", "f"), ToolUse(0, "}"), ToolUse(1, "", "id2", "f"), ToolUse(1, "{}")],
            [ToolUse(0, "{}", "id", "f"), ToolUse(1, "{}", "id2", "f")],
        ),
        ([ToolUse(0, "{"), ToolUse(1, "}")], [ToolUse(0, "{"), ToolUse(1, "}")]),
        ([Text("a"), Stop("end_turn")], [Text("a"), Stop("end_turn")]),
    ],
)
def test_pieces_of_one_block_become_one(deltas: list[Delta], joined: list[Delta]) -> None:
    assert joined_runs(deltas) == joined


PIECES = st.one_of(
    st.builds(Text, st.text(min_size=1)),
    st.builds(Thinking, st.text(min_size=1)),
    st.builds(ToolUse, st.integers(0, 2), st.text(), st.sampled_from(["", "id"]), st.just("f")),
    st.builds(Usage, st.integers(0, 9)),
)


def said(deltas: list[Delta]) -> list[tuple[object, ...]]:
    """Each character with the kind and place of its piece."""
    out: list[tuple[object, ...]] = []
    for delta in deltas:
        if isinstance(delta, Text | Thinking):
            out += [(type(delta), character) for character in delta.text]
        elif isinstance(delta, ToolUse):
            out += [("call", delta.id)] if delta.id else []
            out += [(delta.index, character) for character in delta.arguments]
        else:
            out.append((delta,))
    return out


@given(st.lists(PIECES))
def test_nothing_is_lost_or_moved(deltas: list[Delta]) -> None:
    joined = joined_runs(deltas)
    assert said(joined) == said(deltas)
    assert joined_runs(joined) == joined
