from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.deltas import Stop, Usage
from core.request import Message, TextBlock, ThinkingConfig
from core.testing import UpstreamToolCall
from plugins.llama_cpp import LlamaCpp
from tests.plugins.backends import FULL, HI, WIRE, Backend, Outcome

BACKEND = Backend(LlamaCpp())
COUNT = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
THOUGHT = "The user wants the numbers from 1 to 10.\n"
BOTH = ("Thinking", "Text")


def test_the_body() -> None:
    body = BACKEND.body(attrs.evolve(FULL, stop_sequences=tuple("0123456789")))
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}
    assert (body["max_tokens"], body["top_k"], len(body["stop"])) == (9, 3, 10)
    assert body["tool_choice"] == "required"
    assert (body["thinking_budget_tokens"], body["chat_template_kwargs"]) == (2048, {"enable_thinking": True})
    assert body["verbose"] is True


def test_thinking_switched_off() -> None:
    body = BACKEND.body(attrs.evolve(HI, thinking=ThinkingConfig("disabled")))
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("chat.json", Outcome(COUNT, THOUGHT, (), Stop("end_turn"), Usage(15, 54), BOTH)),
        ("chat_stop5_stream.sse", Outcome(COUNT[:12], THOUGHT, (), Stop("end_turn"), Usage(15, 37, 14), BOTH)),
        (
            "chat_max_tokens_in_thinking.json",
            Outcome(thinking="The user ", stop=Stop("max_tokens"), usage=Usage(15, 6, 14), kinds=("Thinking",)),
        ),
        ("chat_stop_first_token_stream.sse", Outcome(stop=Stop("end_turn"))),
    ],
)
def test_recorded_answers(file: str, expected: Outcome) -> None:
    """Recorded without `verbose`, so no match is reported."""
    assert BACKEND.recorded(f"llama_cpp/{file}", "5", "1") == expected


def test_recorded_calls() -> None:
    for file in ("chat_tools_two.json", "chat_tools_two_stream.sse"):
        found = BACKEND.recorded(f"llama_cpp/{file}")
        assert [name for name, _ in found.calls] == ["get_weather", "get_time"]
        assert found.stop == Stop("tool_use")


@pytest.mark.parametrize(
    ("verbose", "expected"),
    [
        ({"stop_type": "word", "stopping_word": "5", "prompt": "secret"}, Stop("stop_sequence", "5")),
        ({"stop_type": "word", "stopping_word": "<|im_end|>"}, Stop("end_turn")),
        ({"stop_type": "eos", "stopping_word": ""}, Stop("end_turn")),
        (None, Stop("end_turn")),
    ],
)
def test_the_match_is_in_the_verbose_report(verbose: Any, expected: Stop) -> None:
    assert BACKEND.answer(top={"__verbose": verbose}).stop == expected


def test_a_call_without_an_id() -> None:
    found = BACKEND.answer(text="", tool_calls=(UpstreamToolCall("f", '{"a": 1}', None),), finish_reason="tool_calls")
    assert (found.calls, found.stop) == ((("f", '{"a": 1}'),), Stop("tool_use"))


def test_a_schema_beside_tools_goes_into_the_prompt() -> None:
    asked = attrs.evolve(HI, output_schema={"type": "object", "title": "T"})
    assert BACKEND.body(asked)["response_format"]["type"] == "json_schema"
    body = BACKEND.body(attrs.evolve(asked, tools=FULL.tools))
    assert "response_format" not in body
    assert '"title":"T"' in body["messages"][0]["content"]


@pytest.mark.parametrize("file", ["chat_prefill_thinking.json", "chat_prefill_stream.sse"])
def test_a_recorded_answer_does_not_repeat_what_it_continues(file: str) -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("1, 2, 3,"),)))
    answer = (WIRE / "llama_cpp" / file).read_bytes()
    assert BACKEND.translate(answer, attrs.evolve(HI, messages=turns)).text == COUNT.removeprefix("1, 2, 3,")
    assert BACKEND.translate(answer).text == COUNT
