from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import Chunk, ConfigError, Delta, State, Text, Thinking, ToolUse, Usage
from core.testing import Assembly, Reply, UpstreamAnswer, UpstreamToolCall, assert_split_invariant, replay, strategies
from plugins.think_tags import Untagged
from plugins.think_tags.splitter import Splitter
from plugins.think_tags.tags import PAIRS
from tests.mapping.wire import BACKENDS

ANSWER = UpstreamAnswer(text="\n<think>\nTwo and two.\n</think>\n\nFour.")


def blocks(reply: Reply) -> list[tuple[str, Any]]:
    shown = {"thinking": "thinking", "text": "text", "tool_use": "name"}
    return [(block["type"], block[shown[block["type"]]]) for block in reply.message["content"]]


class Given:
    """A content translator whose chunks hold their deltas, and whose end the last ones."""

    def __init__(self, *last: Delta) -> None:
        self.last = last

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        return chunk["deltas"]  # type: ignore[no-any-return]

    def flush(self) -> Sequence[Delta]:
        return self.last


def told(*deltas: Delta, last: Sequence[Delta] = ()) -> list[Delta]:
    untagged = Untagged(Given(*last), Splitter(PAIRS))
    return [*(each for delta in deltas for each in untagged.feed({"deltas": [delta]})), *untagged.flush()]


@pytest.mark.parametrize("backend", BACKENDS)
def test_on_every_engine_the_reasoning_is_told_apart_however_it_comes(backend: str) -> None:
    replies = assert_split_invariant([backend, "think_tags"], ANSWER, cuts=[(9, 170, 400)])
    for reply in replies.values():
        assert blocks(reply) == [("thinking", "Two and two."), ("text", "Four.")]
        assert reply.message["usage"] == {"input_tokens": 11, "output_tokens": 7}


def test_tags_cut_anywhere() -> None:
    replies = assert_split_invariant(
        ["openai", "think_tags"], attrs.evolve(ANSWER, shape=attrs.evolve(ANSWER.shape, piece=1))
    )
    assert all(len(reply.message["content"]) == 2 for reply in replies.values())


def test_a_stop_sequence_counts_in_the_answer_alone() -> None:
    wire = ANSWER.wire(stream=True)
    reply = replay(["ollama", "think_tags"], [wire], request={"stop_sequences": ["wo", "r."]})
    assert blocks(reply) == [("thinking", "Two and two."), ("text", "Fou")]
    assert reply.message["stop_sequence"] == "r."


def test_reasoning_that_was_opened_by_the_template() -> None:
    wire = UpstreamAnswer(text="Two.\n</think>\n\nFour.").wire(stream=True)
    reply = replay(["openai", "think_tags"], [wire], options={"think_tags": {"opened": True}})
    assert blocks(reply) == [("thinking", "Two."), ("text", "Four.")]
    assert blocks(replay(["openai", "think_tags"], [wire])) == [("text", "Two.\n</think>\n\nFour.")]


def test_an_answer_that_goes_on_where_the_client_began_it_is_behind_the_reasoning() -> None:
    def ask(*turns: Mapping[str, Any], text: str) -> list[tuple[str, Any]]:
        messages = [{"role": "user", "content": "2 + 2?"}, *turns]
        wire = UpstreamAnswer(text=text).wire(stream=True)
        opened = {"think_tags": {"opened": True}}
        return blocks(replay(["vllm", "think_tags"], [wire], request={"messages": messages}, options=opened))

    began = {"role": "assistant", "content": "The answer is"}
    assert ask(began, text=" four.") == [("text", " four.")]
    assert ask(began, {"role": "user", "content": "Go on."}, text="Hm.</think>So") == [
        ("thinking", "Hm."),
        ("text", "So"),
    ]


def test_reasoning_alone() -> None:
    wire = UpstreamAnswer(text="<think>Two and", finish_reason="length").wire(stream=True)
    reply = replay(["openai", "think_tags"], [wire])
    assert blocks(reply) == [("thinking", "Two and")]
    assert reply.message["stop_reason"] == "max_tokens"


def test_a_stream_that_breaks_off_gives_what_was_held() -> None:
    wire = UpstreamAnswer(text="<think>Two</thi", error={"message": "broke"}).wire(stream=True)
    reply = replay(["openai", "think_tags"], [wire], stream=True)
    assert reply.error is not None
    assert blocks(reply) == [("thinking", "Two</thi")]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_the_engines_own_reasoning_still_counts(field: str) -> None:
    answer = UpstreamAnswer(text="\n\nuse <think>", reasoning="\nTwo.\n", reasoning_fields=(field,))
    for reply in assert_split_invariant(["vllm", "think_tags"], answer, cuts=[(9, 170)]).values():
        assert blocks(reply) == [("thinking", "\nTwo.\n"), ("text", "\n\nuse <think>")]


def test_a_call_behind_reasoning() -> None:
    answer = UpstreamAnswer(text="<think>I call.</think>\n\n", tool_calls=(UpstreamToolCall("f"),))
    for reply in assert_split_invariant(["openai", "think_tags"], answer, cuts=[(9, 170)]).values():
        assert blocks(reply) == [("thinking", "I call."), ("tool_use", "f")]


def test_what_is_held_goes_before_what_follows() -> None:
    call = ToolUse(0, "{}", "call_1", "f")
    assert told(Text("<thi"), call, Text("nk>")) == [Text("<thi"), call, Text("nk>")]
    assert told(Text("<think>a</th"), call, Text("x</think>b")) == [
        Thinking("a"),
        Thinking("</th"),
        call,
        Thinking("x"),
        Text("b"),
    ]
    assert told(Text("<think>a<think>b</think>c"), call) == [Thinking("a<think>b"), Text("c"), call]
    assert told(call, Text("<think>")) == [call, Text("<think>")]


def test_counts_and_state_change_nothing() -> None:
    usage, state = Usage(1, 2), State({"a": 1})
    assert told(Text("<thi"), usage, Text("nk>a"), state, Text("</think>b")) == [usage, Thinking("a"), state, Text("b")]


def test_what_the_backend_held_is_split_too() -> None:
    assert told(Text("<think>a"), last=[Text("</think>b")]) == [Thinking("a"), Text("b")]


def test_pairs_of_ones_own() -> None:
    wire = UpstreamAnswer(text="(( a ))b").wire(stream=True)
    reply = replay(["openai", "think_tags"], [wire], options={"think_tags": {"pairs": [["((", "))"], ["--", "--"]]}})
    assert blocks(reply) == [("thinking", "a"), ("text", "b")]
    wire = UpstreamAnswer(text="Thought: a Final Thought: b").wire(stream=True)
    one_ends_the_other = {"think_tags": {"pairs": [["Thought:", "Final Thought:"]]}}
    reply = replay(["openai", "think_tags"], [wire], options=one_ends_the_other)
    assert blocks(reply) == [("thinking", "a"), ("text", "b")]
    wire = UpstreamAnswer(text="-- a --b").wire(stream=True)
    reply = replay(["openai", "think_tags"], [wire], options={"think_tags": {"pairs": [["--", "--"]]}})
    assert blocks(reply) == [("thinking", "a"), ("text", "b")]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "there must be a pair"),
        ([["<a>"]], "an opening and a closing tag"),
        ([["<a>", ""]], "an opening and a closing tag"),
        ([["<a> ", "</a>"]], "without blanks"),
        ([["<a>", "</a>"], ["<a>", "<b>"]], "no two with the same opening tag"),
        ([["<a>", "</a>"], ["<a>b", "</b>"]], "'<a>' is the beginning of '<a>b'"),
        ([["<a>b", "a>"]], "'a>' is a part of '<a>b'"),
        (["<a>"], "expected a list"),
    ],
)
def test_faulty_pairs(pairs: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Assembly(["openai", "think_tags"], {"think_tags": {"pairs": pairs}})


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    pair=st.sampled_from(PAIRS),
    thought=strategies.texts(),
    text=strategies.texts(),
    shape=strategies.shapes(),
    cuts=st.lists(strategies.cuts(), min_size=1, max_size=2),
)
def test_any_reasoning_and_any_text(pair: tuple[str, str], thought: str, text: str, shape: Any, cuts: Any) -> None:
    answer = UpstreamAnswer(text=f"{pair[0]}{thought}{pair[1]}{text}", shape=attrs.evolve(shape, halves=False))
    wanted = [("thinking", thought.strip()), ("text", text.lstrip())]
    for reply in assert_split_invariant(["openai", "think_tags"], answer, cuts=cuts).values():
        assert blocks(reply) == [(kind, said) for kind, said in wanted if said]
