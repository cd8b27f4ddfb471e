from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.content import Content
from core.chat.echo import Echoless, without_echo
from core.deltas import Delta, Text, Thinking, ToolUse, Usage
from core.request import Message, Request, TextBlock, ThinkingBlock

USER = Message("user", (TextBlock("Count."),))
TURN = Message("assistant", (ThinkingBlock("I count.\n"), TextBlock("1, 2,")))
CALL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}


def piece(**delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


def run(pieces: Sequence[dict[str, Any]], text: str = "1, 2,", thinking: str = "", **options: Any) -> list[Delta]:
    content = Echoless(Content(), text, thinking, **options)
    out = [delta for one in pieces for delta in content.feed(one)]
    return [*out, *content.flush()]


def joined(deltas: Sequence[Delta], kind: type[Text | Thinking] = Text) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("1, 2, 3",), " 3"),
        (("1", ", ", "2,", " 3"), " 3"),
        (("1, 2,", " 3"), " 3"),
        (("1, 2,",), ""),
        ((" 3, 4",), " 3, 4"),
        (("1, 3",), "1, 3"),
        (("1", ", ", "3"), "1, 3"),
        (("1, ", "2"), "1, 2"),
        (("1, 2,1, 2,",), "1, 2,"),
        ((), ""),
    ],
)
def test_a_repetition_in_front_is_dropped_and_nothing_else(pieces: tuple[str, ...], text: str) -> None:
    out = run([piece(content=one) for one in pieces])
    assert joined(out) == text
    assert all(delta.text for delta in out if isinstance(delta, Text))


def test_text_goes_on_as_soon_as_it_is_decided() -> None:
    content = Echoless(Content(), "1, 2,")
    assert content.feed(piece(content="1, ")) == []
    assert content.feed(piece(content="2, 3")) == [Text(" 3")]
    assert content.feed(piece(content="1, 2,")) == [Text("1, 2,")]


def test_the_reasoning_of_the_turn_is_repeated_too() -> None:
    for pieces in (
        [piece(reasoning_content="I count.\n", content="1, 2, 3")],
        [
            piece(reasoning_content="I cou"),
            piece(reasoning_content="nt.\n"),
            piece(reasoning_content="\n"),
            piece(content="1, 2, 3"),
        ],
    ):
        assert run(pieces, thinking="I count.\n") == [Text(" 3")]
    other = [piece(reasoning_content="I count"), piece(content=" 3")]
    assert run(other, thinking="I count.") == [Thinking("I count"), Text(" 3")]
    assert joined(run([piece(reasoning_content="I see.")], thinking="I count."), Thinking) == "I see."


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        (piece(tool_calls=[CALL]), [Text, ToolUse, ToolUse]),
        (piece(reasoning_content="hm"), [Text, Thinking]),
        ({"usage": {"prompt_tokens": 1, "completion_tokens": 1}}, [Usage, Text]),
    ],
)
def test_what_was_held_goes_before_what_follows(more: dict[str, Any], kinds: list[type]) -> None:
    out = run([piece(content="1, "), more])
    assert [type(delta) for delta in out] == kinds
    assert joined(out) == "1, "


def test_an_engine_may_repeat_in_whole_answers_alone() -> None:
    whole = {**piece(content="1, 2, 3"), "object": "chat.completion"}
    assert joined(run([whole], streamed=False)) == " 3"
    assert joined(run([piece(content="1, 2,"), piece(content=" 3")], streamed=False)) == "1, 2, 3"


def test_only_a_prefill_is_looked_for() -> None:
    content = Content()
    assert without_echo(content, Request("message", messages=(USER,))) is content
    assert without_echo(content, Request("message", messages=(USER, TURN, USER))) is content
    echoless = without_echo(content, Request("message", messages=(USER, TURN)))
    assert echoless.feed(piece(reasoning_content="I count.\n", content="1, 2, 3")) == [Text(" 3")]


@given(st.text("ab", min_size=1, max_size=4), st.text("ab", max_size=8), st.lists(st.integers(0, 8), max_size=6))
def test_no_cut_changes_it(prefill: str, answer: str, cuts: list[int]) -> None:
    places = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    pieces = [answer[start:end] for start, end in pairwise(places)]
    text = joined(run([piece(content=one) for one in pieces], prefill))
    assert text == answer.removeprefix(prefill)
