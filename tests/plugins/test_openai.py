from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.deltas import Stop, Usage
from core.errors import RequestError
from core.request import Message, TextBlock, ThinkingConfig
from core.testing import UpstreamToolCall
from plugins.openai import OpenAI
from tests.plugins.backends import HI, Backend, Outcome

BACKEND = Backend(OpenAI())


def test_the_body() -> None:
    body = BACKEND.body()
    assert body["messages"][1] == {"role": "assistant", "content": "a"}
    assert (body["max_tokens"], body["stop"], body["parallel_tool_calls"]) == (9, ["5", "END"], False)
    known = {"model", "messages", "max_tokens", "temperature", "stop", "stream", "tools", "tool_choice"}
    assert set(body) == known | {"parallel_tool_calls"}


def test_the_table_may_change_the_dialect() -> None:
    body = BACKEND.body(dialect={"max_tokens_field": "max_completion_tokens", "efforts": ("low", "high")})
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (9, "high")
    assert "max_tokens" not in body


def test_thinking_has_no_switch() -> None:
    assert BACKEND.body(attrs.evolve(HI, thinking=ThinkingConfig("disabled"))).keys() == BACKEND.body(HI).keys()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Outcome("Hello.", "", (), Stop("end_turn"), Usage(11, 7), ("Text",))),
        ({"finish_reason": "length"}, Outcome("Hello.", "", (), Stop("max_tokens"), Usage(11, 7), ("Text",))),
        ({"finish_reason": "content_filter"}, Outcome("Hello.", "", (), Stop("refusal"), Usage(11, 7), ("Text",))),
        ({"text": None, "refusal": "I won't."}, Outcome("I won't.", "", (), Stop("refusal"), Usage(11, 7), ("Text",))),
        ({"text": None}, Outcome(stop=Stop("end_turn"), usage=Usage(11, 7))),
        (
            {"text": "", "tool_calls": (UpstreamToolCall("f", ""),), "finish_reason": "tool_calls"},
            Outcome("", "", (("f", "{}"),), Stop("tool_use"), Usage(11, 7), ("ToolUse",)),
        ),
        ({"finish_reason": "tool_calls"}, Outcome("Hello.", "", (), Stop("end_turn"), Usage(11, 7), ("Text",))),
        ({"choice": {"stop_reason": "5"}}, Outcome("Hello.", "", (), Stop("end_turn"), Usage(11, 7), ("Text",))),
    ],
)
def test_answers(fields: dict[str, Any], expected: Outcome) -> None:
    assert BACKEND.answer(**fields) == expected


@pytest.mark.parametrize("fields", [("reasoning",), ("reasoning_content",), ("reasoning", "reasoning_content")])
def test_reasoning_in_either_field_is_taken_once(fields: tuple[str, ...]) -> None:
    assert BACKEND.answer(reasoning="t", reasoning_fields=fields).thinking == "t"


def test_a_stream_of_azure() -> None:
    stream = b"""data: {"choices":[],"prompt_filter_results":[{"prompt_index":0}],"id":"","model":""}

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}

data: {"choices":[{"index":0,"content_filter_offsets":{},"finish_reason":null}],"id":""}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}

data: [DONE]

"""
    assert BACKEND.translate(stream) == Outcome("a", stop=Stop("refusal"), kinds=("Text",))


@pytest.mark.parametrize("file", ["chat_stream.sse", "chat_unicode_stream.sse", "chat_stop5_stream.sse"])
def test_recorded_streams_of_llama_cpp_python(file: str) -> None:
    found = BACKEND.recorded(f"llama_cpp_python/{file}", "5")
    assert found.text.startswith("<think>")
    assert (found.stop, found.kinds) == (Stop("end_turn"), ("Text",))


def test_a_last_turn_of_the_model_s_is_refused() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    with pytest.raises(RequestError, match="prefill"):
        BACKEND.body(attrs.evolve(HI, messages=turns))
    assert (
        BACKEND.body(attrs.evolve(HI, messages=turns), dialect={"prefill": "as_is"})["messages"][-1]["content"]
        == "One,"
    )
