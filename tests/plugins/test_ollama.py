from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.deltas import Stop, Usage
from core.errors import RequestError
from core.request import ImageBlock, Message, ThinkingConfig, Tool, ToolChoice
from core.testing import UpstreamToolCall
from plugins.ollama import Ollama
from tests.plugins.backends import FULL, HI, Backend, Outcome

BACKEND = Backend(Ollama())


def test_the_body() -> None:
    body = BACKEND.body(attrs.evolve(FULL, stop_sequences=tuple("0123456789")))
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning": "t"}
    assert (body["max_tokens"], len(body["stop"]), body["reasoning_effort"]) == (9, 10, "xhigh")
    assert not {"top_k", "parallel_tool_calls", "max_completion_tokens"} & set(body)


def test_thinking_switched_off() -> None:
    body = BACKEND.body(attrs.evolve(FULL, thinking=ThinkingConfig("disabled")))
    assert body["reasoning_effort"] == "none"


@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_a_whole_call_in_one_chunk(finish: str) -> None:
    chunk = """data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{
data: "role":"assistant","content":"","tool_calls":[{"id":"call_x","index":0,"type":"function","function":
data: {"name":"f","arguments":"{\\"a\\":1}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"%s"}]}

data: [DONE]

"""
    found = BACKEND.translate((chunk % finish).encode())
    assert found == Outcome(calls=(("f", '{"a":1}'),), stop=Stop("tool_use"), kinds=("ToolUse",))


def test_a_stream_that_just_ends_has_no_stop() -> None:
    found = BACKEND.translate(b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n')
    assert found == Outcome("a", kinds=("Text",))


def test_reasoning_before_text() -> None:
    found = BACKEND.answer(reasoning="t", reasoning_fields=("reasoning",))
    assert found == Outcome("Hello.", "t", (), Stop("end_turn"), Usage(11, 7), ("Thinking", "Text"))


@pytest.mark.parametrize("choice", [{"stop_reason": "5"}, {"matched_stop": "5"}, {}])
def test_no_match_is_made_up(choice: dict[str, Any]) -> None:
    assert BACKEND.answer(choice=choice).stop == Stop("end_turn")


def test_two_calls() -> None:
    calls = (UpstreamToolCall("f", '{"a": 1}', "call_1"), UpstreamToolCall("f", '{"a": 1}', "call_2"))
    assert BACKEND.answer(text="", tool_calls=calls).calls == (("f", '{"a": 1}'), ("f", '{"a": 1}'))


def test_a_choice_is_not_sent_in_words_that_are_ignored() -> None:
    body = BACKEND.body(attrs.evolve(FULL, tools=(*FULL.tools, Tool("g", {"type": "object"}))))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["f"]
    assert "tools" not in BACKEND.body(attrs.evolve(FULL, tool_choice=ToolChoice("none")))


@pytest.mark.parametrize(
    ("image", "fault"),
    [
        (ImageBlock("image/png", "aGk="), ""),
        (ImageBlock("image/gif", "aGk="), "image/gif"),
        (ImageBlock(url="https://host/a.png"), "base64"),
    ],
)
def test_images_are_inline_and_of_three_types(image: ImageBlock, fault: str) -> None:
    request = attrs.evolve(HI, messages=(Message("user", (image,)),))
    if fault:
        with pytest.raises(RequestError, match=fault):
            BACKEND.body(request)
    else:
        (part,) = BACKEND.body(request)["messages"][0]["content"]
        assert part["image_url"]["url"] == "data:image/png;base64,aGk="


@pytest.mark.anyio
async def test_a_model_that_cannot_think_is_asked_without_an_effort() -> None:
    refusal = {"error": {"message": '"qwen2.5:3b" does not support thinking', "type": "invalid_request_error"}}
    assert await BACKEND.asked(FULL, refusal, "reasoning_effort") == ["xhigh", None]
