from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.chat import UpstreamClient
from core.config import BackendConfig
from core.deltas import Stop, Usage
from core.request import Message, TextBlock, ThinkingBlock, ThinkingConfig, ToolUseBlock
from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply, UpstreamToolCall
from plugins.vllm import VLLM
from tests.plugins.backends import FULL, HI, ROUTE, Backend, Outcome

BACKEND = Backend(VLLM())
COUNT = "\n\n1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
THOUGHT = "\nThe user wants the numbers from 1 to 10.\n"
TWO = (("get_weather", '{"city": "Paris"}'), ("get_time", '{"city": "Oslo"}'))
BOTH = ("Thinking", "Text")


def test_the_body() -> None:
    body = BACKEND.body()
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning": "t"}
    assert (body["max_tokens"], body["top_k"], body["stop"]) == (9, 3, ["5", "END"])
    assert body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert body["parallel_tool_calls"] is False
    assert (body["reasoning_effort"], body["thinking_token_budget"]) == ("xhigh", 2048)
    assert body["chat_template_kwargs"] == {"enable_thinking": True, "thinking": True}


def test_thinking_switched_off() -> None:
    body = BACKEND.body(attrs.evolve(HI, thinking=ThinkingConfig("disabled")))
    assert body["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}


@pytest.mark.parametrize(
    ("file", "stops", "expected"),
    [
        ("chat.json", (), Outcome(COUNT, THOUGHT, (), Stop("end_turn"), Usage(15, 54), BOTH)),
        ("chat_stream_usage.sse", (), Outcome(COUNT, THOUGHT, (), Stop("end_turn"), Usage(15, 54), BOTH)),
        ("chat_stop5.json", ("5",), Outcome(COUNT[:14], THOUGHT, (), Stop("stop_sequence", "5"), Usage(15, 37), BOTH)),
        (
            "chat_stop5_stream.sse",
            ("5",),
            Outcome(COUNT[:14], THOUGHT, (), Stop("stop_sequence", "5"), Usage(15, 37), BOTH),
        ),
        ("chat_stop5.json", ("6",), Outcome(COUNT[:14], THOUGHT, (), Stop("end_turn"), Usage(15, 37), BOTH)),
        ("chat_stop_first_token.json", ("1",), Outcome(stop=Stop("stop_sequence", "1"), usage=Usage(19, 1))),
        ("chat_stop_first_token_stream.sse", ("1",), Outcome(stop=Stop("stop_sequence", "1"))),
        ("chat_max_tokens_1.json", (), Outcome(stop=Stop("max_tokens"), usage=Usage(15, 1))),
        (
            "chat_max_tokens_in_thinking_stream.sse",
            (),
            Outcome(thinking="\nThe user ", stop=Stop("max_tokens"), kinds=("Thinking",)),
        ),
        (
            "chat_tools_two_stream.sse",
            (),
            Outcome(
                "\n\n", "\nI should call get_weather and get_time.\n", TWO, Stop("tool_use"), kinds=(*BOTH, "ToolUse")
            ),
        ),
        ("chat_unicode_stream.sse", (), Outcome("naïve 日本語 🙂 end", stop=Stop("end_turn"), kinds=("Text",))),
    ],
)
def test_recorded_answers(file: str, stops: tuple[str, ...], expected: Outcome) -> None:
    assert BACKEND.recorded(f"vllm/{file}", *stops) == expected


def test_a_named_call_ends_with_stop_and_is_a_call() -> None:
    found = BACKEND.recorded("vllm/chat_tools_named.json")
    assert (found.calls, found.stop) == ((("get_time", '{"city": "Paris"}'),), Stop("tool_use"))


def test_a_stop_amid_a_call_wins_over_it() -> None:
    found = BACKEND.recorded("vllm/chat_tools_stop_in_args_stream.sse", "Paris")
    assert (found.calls, found.stop) == ((("get_weather", '{"city": "'),), Stop("stop_sequence", "Paris"))


@pytest.mark.parametrize("value", [5, None, "</s>"])
def test_a_token_s_number_null_and_a_foreign_string_are_a_plain_end(value: Any) -> None:
    assert BACKEND.answer(choice={"stop_reason": value}).stop == Stop("end_turn")
    assert BACKEND.answer(choice={"stop_reason": "5"}).stop == Stop("stop_sequence", "5")


@pytest.mark.parametrize("fields", [("reasoning",), ("reasoning_content",), ("reasoning", "reasoning_content")])
def test_reasoning_of_new_and_old_versions(fields: tuple[str, ...]) -> None:
    assert BACKEND.answer(reasoning="t", reasoning_fields=fields).thinking == "t"


def test_calls() -> None:
    found = BACKEND.answer(text=None, tool_calls=(UpstreamToolCall("f", '{"a": 1}'),), finish_reason="stop")
    assert (found.calls, found.stop) == ((("f", '{"a": 1}'),), Stop("tool_use"))


def test_a_last_turn_of_the_model_s_is_continued() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    body = BACKEND.body(attrs.evolve(HI, messages=turns))
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)


@pytest.mark.parametrize(
    ("last", "off"),
    [
        (Message("assistant", (TextBlock("One,"),)), True),
        (Message("assistant", (ThinkingBlock("t"), TextBlock("One,"))), True),
        (Message("assistant", (ThinkingBlock("t"),)), False),
        (Message("assistant", (TextBlock("One,"), ToolUseBlock("call_1", "f", {}))), False),
        (Message("user", (TextBlock("One,"),)), False),
    ],
)
def test_what_continues_a_text_is_text(last: Message, off: bool) -> None:
    body = BACKEND.body(attrs.evolve(FULL, messages=(*HI.messages, last)))
    assert body["chat_template_kwargs"]["enable_thinking"] is not off
    assert ("thinking_token_budget" in body) is not off


def test_a_schema_beside_tools_goes_into_the_prompt() -> None:
    asked = attrs.evolve(HI, output_schema={"type": "object", "title": "T"})
    assert BACKEND.body(asked)["response_format"]["type"] == "json_schema"
    body = BACKEND.body(attrs.evolve(asked, tools=FULL.tools))
    assert "response_format" not in body
    assert '"title":"T"' in body["messages"][0]["content"]


@pytest.mark.anyio
async def test_a_budget_that_is_refused_is_left_out() -> None:
    said = "thinking_token_budget is set but reasoning_config is not configured."
    refusal = {"error": {"message": said, "type": "BadRequestError", "param": None, "code": 400}}
    assert await BACKEND.asked(FULL, refusal, "thinking_token_budget") == [2048, None]
    assert (
        await BACKEND.asked(FULL, refusal, "chat_template_kwargs") == [{"enable_thinking": True, "thinking": True}] * 2
    )


@pytest.mark.anyio
async def test_a_budget_that_is_refused_within_a_stream_is_left_out() -> None:
    said = "thinking_token_budget is set but reasoning_config is not configured."
    refused = UpstreamReply.sse([{"error": {"message": said, "type": "BadRequestError", "param": None, "code": 400}}])
    request = attrs.evolve(FULL, stream=True)
    async with MockUpstream(refused, UpstreamReply(UpstreamAnswer(text="Hello.").sse())) as upstream:
        client = UpstreamClient(BackendConfig("up", (), url=upstream.url))
        async with VLLM().call_upstream(request, ROUTE, client) as batches:
            chunks = [chunk async for batch in batches for chunk in batch]
        await client.aclose()
    said_in = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"]]
    assert "".join(said_in) == "Hello."
    assert [exchange.json.get("thinking_token_budget") for exchange in upstream.exchanges] == [2048, None]
