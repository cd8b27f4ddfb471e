from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import (
    Block,
    Delta,
    Message,
    Request,
    State,
    Stop,
    Text,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ThinkingConfig,
    ToolChoice,
    ToolUse,
    ToolUseBlock,
)
from plugins.anthropic.history import unsealed
from plugins.anthropic.message import MessageAnswer, tool_input
from plugins.anthropic.parse import Parser
from plugins.anthropic.seal import Seal
from plugins.anthropic.stream import StreamAnswer
from plugins.anthropic.thought import joined
from tests.plugins.anthropic.folding import HTTP, REQUEST, SEAL, fold

STATE = State({"details": [1]})


def opened(*blocks: Block, seal: Seal = SEAL) -> tuple[Block, ...]:
    return unsealed(Request("message", messages=(Message("assistant", blocks),)), seal).messages[0].content


def test_text_and_state_come_back() -> None:
    signature = SEAL.close("plan", STATE, keep_text=True)
    assert opened(ThinkingBlock("", signature)) == (ThinkingBlock("plan", signature, STATE),)


def test_the_blocks_own_text_stands() -> None:
    signature = SEAL.close("plan", STATE, keep_text=True)
    assert opened(ThinkingBlock("mine", signature)) == (ThinkingBlock("mine", signature, STATE),)


@pytest.mark.parametrize("signature", ["", "foreign", SEAL.close("plan", STATE)[:-3]])
def test_what_is_not_ours_stays_as_it_came(signature: str) -> None:
    assert opened(ThinkingBlock("mine", signature), TextBlock("x")) == (
        ThinkingBlock("mine", signature),
        TextBlock("x"),
    )


def test_a_request_without_thinking_is_not_touched() -> None:
    request = Request("message", messages=(Message("assistant", (TextBlock("a"),)),))
    assert unsealed(request, SEAL) is request


# Whatever we answered is taken back, whole.

PARSER = Parser()
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
arguments = st.text() | st.dictionaries(st.text(), json).map(lambda value: orjson.dumps(value).decode())


@st.composite
def answers(draw: st.DrawFn) -> list[Delta]:
    """The deltas of one answer: its calls have ids of their own, a State comes anywhere."""
    out: list[Delta] = []
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["text", "thinking", "state", "call"]))
        if kind == "text":
            out.append(Text(draw(st.text(min_size=1))))
        elif kind == "thinking":
            out.append(Thinking(draw(st.text(min_size=1))))
        elif kind == "state":
            fields = draw(st.dictionaries(st.text(), st.lists(json), max_size=2))
            out.append(State(fields, draw(st.dictionaries(st.just(f"call_{number}"), st.just({"x": [1]})))))
        else:
            out.append(ToolUse(number, "", f"call_{number}", draw(st.text(min_size=1))))
            out.append(ToolUse(number, draw(arguments)))
    return out


def told(request: Request, deltas: Sequence[Delta], *, stream: bool) -> list[dict[str, Any]]:
    """The content of the answer as a client has it."""
    fed = [*deltas, Stop("end_turn")]
    if stream:
        streamed = StreamAnswer(HTTP, request, seal=SEAL)
        return fold(streamed.feed(fed) + streamed.finish())["content"]  # type: ignore[no-any-return]
    whole = MessageAnswer(HTTP, request, seal=SEAL)
    whole.feed(fed)
    return orjson.loads(whole.finish())["content"]  # type: ignore[no-any-return]


def sent_back(content: list[dict[str, Any]]) -> tuple[Block, ...]:
    """The assistant's turn out of the next request, with a result for each call."""
    results = [{"type": "tool_result", "tool_use_id": block["id"]} for block in content if block["type"] == "tool_use"]
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [*results, {"type": "text", "text": "go on"}]},
    ]
    body = orjson.dumps({"model": "m", "max_tokens": 9, "messages": turns})
    return unsealed(PARSER.parse_body(body, "message"), SEAL).messages[1].content


def inputs(deltas: Sequence[Delta]) -> list[Any]:
    written: dict[int, str] = {}
    for delta in deltas:
        if isinstance(delta, ToolUse):
            written[delta.index] = written.get(delta.index, "") + delta.arguments
    return [orjson.loads(orjson.dumps(tool_input(text))) for text in written.values()]


@settings(derandomize=True, deadline=None)
@given(answers(), st.booleans(), st.booleans())
def test_every_answer_is_taken_back_with_all_that_was_in_it(deltas: list[Delta], stream: bool, omitted: bool) -> None:
    thinking = ThinkingConfig("adaptive", display="omitted" if omitted else "summarized")
    content = told(attrs.evolve(REQUEST, thinking=thinking), deltas, stream=stream)
    assert not (omitted and any(block.get("thinking") for block in content))
    blocks = sent_back(content)
    states = [block.state for block in blocks if isinstance(block, ThinkingBlock) and block.state]
    calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
    assert joined(states) == joined(delta for delta in deltas if isinstance(delta, State))
    assert "".join(block.text for block in blocks if isinstance(block, TextBlock)) == "".join(
        delta.text for delta in deltas if isinstance(delta, Text)
    )
    assert "".join(block.thinking for block in blocks if isinstance(block, ThinkingBlock)) == "".join(
        delta.text for delta in deltas if isinstance(delta, Thinking)
    )
    named = [(delta.id, delta.name) for delta in deltas if isinstance(delta, ToolUse) and delta.id]
    assert [(call.id, call.name) for call in calls] == named
    assert [call.input for call in calls] == inputs(deltas)


@settings(derandomize=True, deadline=None)
@given(answers(), st.booleans())
def test_an_answer_with_one_call_alone_is_taken_back(deltas: list[Delta], stream: bool) -> None:
    content = told(attrs.evolve(REQUEST, tool_choice=ToolChoice(parallel=False)), deltas, stream=stream)
    calls = [block for block in sent_back(content) if isinstance(block, ToolUseBlock)]
    assert len(calls) == min(1, len(inputs(deltas)))
