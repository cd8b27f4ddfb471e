from __future__ import annotations

import copy
import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.kept import Kept
from core.deltas import State


def text(said: Any, index: Any = 0, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": said, "index": index, **more}


def summary(said: str, index: Any = 0, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.summary", "summary": said, "index": index, **more}


def encrypted(data: str, index: Any = 0, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.encrypted", "data": data, "index": index, **more}


def kept(*lists: Any) -> Any:
    """What becomes of `reasoning_details` that come in these deltas."""
    collected = Kept(("reasoning_details",))
    for each in lists:
        collected.add({"reasoning_details": each})
    state = collected.pull()
    return None if state is None else state.message["reasoning_details"]


PIECES: dict[str, tuple[list[Any], list[Any]]] = {
    "text in pieces, the signature last (Anthropic's models)": (
        [
            [text("Let ", format="anthropic-claude-v1", signature=None)],
            [text("me see.", format="anthropic-claude-v1")],
            [{"type": "reasoning.text", "signature": "sig", "format": "anthropic-claude-v1", "index": 0}],
        ],
        [text("Let me see.", format="anthropic-claude-v1", signature="sig")],
    ),
    "a summary, then what is encrypted under the same index (OpenAI's models)": (
        [[summary("a")], [summary("b")], [encrypted("xy", id="rs_1", format="openai-responses-v1")]],
        [summary("ab"), encrypted("xy", id="rs_1", format="openai-responses-v1")],
    ),
    "data in pieces": ([[encrypted("x")], [encrypted("y")]], [encrypted("xy")]),
    "two thoughts in turns": (
        [[text("a", 0), text("c", 1)], [text("b", 0)], [text("d", 1)]],
        [text("ab", 0), text("cd", 1)],
    ),
    "the order is that of the first pieces": ([[text("b", 7)], [text("a", 0)]], [text("b", 7), text("a", 0)]),
    "encrypted items of several calls under one index (Gemini's models)": (
        [[encrypted("x", id="tool_a")], [encrypted("y", id="tool_b")], [encrypted("z", id="tool_b")]],
        [encrypted("x", id="tool_a"), encrypted("yz", id="tool_b")],
    ),
    "the id comes late": ([[encrypted("x", id=None)], [encrypted("", id="rs")]], [encrypted("x", id="rs")]),
    "a null later on takes nothing back": (
        [[text("a", signature="s")], [text(None, signature=None)]],
        [text("a", signature="s")],
    ),
    "text without an index goes on": (
        [[{"type": "reasoning.text", "text": "a"}], [{"type": "reasoning.text", "text": "b"}]],
        [{"type": "reasoning.text", "text": "ab"}],
    ),
    "data without an index is whole": (
        [[{"type": "reasoning.encrypted", "data": "a"}], [{"type": "reasoning.encrypted", "data": "b"}]],
        [{"type": "reasoning.encrypted", "data": "a"}, {"type": "reasoning.encrypted", "data": "b"}],
    ),
    "items of one list without an index stay apart": (
        [[{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]],
        [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}],
    ),
    "halves of a character": ([[text("\ud83d")], [text("\udc4d")]], [text("👍")]),
    "unknown types and fields": (
        [[{"type": "reasoning.new", "index": 0, "deep": {"a": [1]}}]],
        [{"type": "reasoning.new", "index": 0, "deep": {"a": [1]}}],
    ),
    "what is no item at all": ([["a", 7, None, []], ["a", True]], ["a", 7, None, [], "a", True]),
}


@pytest.mark.parametrize("case", PIECES)
def test_details_are_put_together(case: str) -> None:
    pieces, expected = PIECES[case]
    before = copy.deepcopy(pieces)
    assert kept(*pieces) == expected
    assert pieces == before


def test_text_under_an_index_that_is_none_is_still_not_lost() -> None:
    assert "".join(item["text"] for item in kept([text("a", True)], [text("b", "0")])) == "ab"


@pytest.mark.parametrize("nothing", [None, [], "", {}, 0])
def test_nothing_is_nothing(nothing: Any) -> None:
    assert kept(nothing) is None
    assert kept() is None


def test_a_thing_is_given_once() -> None:
    collected = Kept(("reasoning_details",))
    collected.add({"reasoning_details": [text("a")]})
    assert collected.pull() == State({"reasoning_details": [text("a")]})
    assert collected.pull() is None
    collected.add({"reasoning_details": [text("b", 1)]})
    assert collected.pull() == State({"reasoning_details": [text("b", 1)]})


def test_fields_that_are_no_lists() -> None:
    collected = Kept(("signature", "extra_content", "mark"))
    collected.add({"signature": "ab", "extra_content": {"v": 1}, "other": "no"})
    collected.add({"signature": "c", "extra_content": {"v": 2}, "mark": None})
    assert collected.pull() == State({"signature": "abc", "extra_content": {"v": 2}})
    collected.add({"signature": "d"})
    # A later State replaces strings, so it has them whole.
    assert collected.pull() == State({"signature": "abcd"})


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(st.lists(st.tuples(st.sampled_from(("text", "summary", "data")), WORDS), min_size=1, max_size=4), st.data())
def test_pieces_give_the_list_that_a_whole_message_has(kinds: Sequence[tuple[str, str]], data: st.DataObject) -> None:
    types = {"text": "reasoning.text", "summary": "reasoning.summary", "data": "reasoning.encrypted"}
    whole = [{"type": types[field], field: said, "index": at, "format": "x"} for at, (field, said) in enumerate(kinds)]
    pieces = [
        [{**item, field: said[start : start + 2]}]
        for item, (field, said) in zip(whole, kinds, strict=True)
        for start in range(0, len(said), 2)
    ]
    assert kept(*pieces) == kept(whole) == whole
    shuffled = data.draw(st.permutations(pieces))
    assert len(kept(*shuffled)) == len(whole)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(("reasoning.text", "", "a\ud83d")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("type", "index", "text", "data", "id")), inner)
    ),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=4))
def test_nothing_breaks_it(values: list[Any]) -> None:
    found = kept(*values)
    assert (found is None) == (not any(values))
    assert json.dumps(found)


def test_many_pieces_take_linear_time() -> None:
    began = time.process_time()
    found = kept(*([text("word ")] for _ in range(20_000)))
    assert len(found[0]["text"]) == 100_000
    assert time.process_time() - began < 1.0
