from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.deltas import Stop, Usage
from core.request import Message, TextBlock, ThinkingConfig
from core.testing import UpstreamToolCall
from plugins.sglang import SGLang
from tests.plugins.backends import FULL, HI, Backend, Outcome

BACKEND = Backend(SGLang())


def test_the_body() -> None:
    body = BACKEND.body(attrs.evolve(FULL, stop_sequences=tuple("0123456789")))
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}
    assert (body["max_tokens"], body["top_k"], len(body["stop"])) == (9, 3, 10)
    assert body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert body["reasoning_effort"] == "xhigh"
    assert body["chat_template_kwargs"] == {"enable_thinking": True, "thinking": True}
    assert not [key for key in body if "budget" in key]


def test_thinking_switched_off() -> None:
    body = BACKEND.body(attrs.evolve(HI, thinking=ThinkingConfig("disabled")))
    assert body["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5", Stop("stop_sequence", "5")),
        (151_645, Stop("end_turn")),
        (None, Stop("end_turn")),
        ("<|im_end|>", Stop("end_turn")),
    ],
)
def test_the_match_is_in_matched_stop(value: Any, expected: Stop) -> None:
    assert BACKEND.answer(choice={"matched_stop": value}).stop == expected
    assert BACKEND.answer(choice={"stop_reason": "5"}).stop == Stop("end_turn")


def test_reasoning_and_calls() -> None:
    calls = (UpstreamToolCall("f", '{"a": 1}', "call_1"), UpstreamToolCall("g", "{}", "call_2"))
    found = BACKEND.answer(text="", reasoning="t", tool_calls=calls, finish_reason="tool_calls")
    assert found == Outcome(
        "", "t", (("f", '{"a": 1}'), ("g", "{}")), Stop("tool_use"), Usage(11, 7), ("Thinking", "ToolUse")
    )


def test_only_its_own_field_is_reasoning() -> None:
    assert BACKEND.answer(reasoning="t", reasoning_fields=("reasoning",)).thinking == ""


def test_a_last_turn_of_the_model_s_is_continued() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    body = BACKEND.body(attrs.evolve(HI, messages=turns))
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)


def test_a_schema_beside_tools_goes_into_the_prompt() -> None:
    asked = attrs.evolve(HI, output_schema={"type": "object", "title": "T"})
    assert BACKEND.body(asked)["response_format"]["type"] == "json_schema"
    body = BACKEND.body(attrs.evolve(asked, tools=FULL.tools))
    assert "response_format" not in body
    assert '"title":"T"' in body["messages"][0]["content"]
