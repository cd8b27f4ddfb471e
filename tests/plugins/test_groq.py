from __future__ import annotations

import attrs
import pytest

from core.deltas import Usage
from plugins.groq import Groq
from tests.plugins.backends import FULL, HI, OFF, Backend

BACKEND = Backend(Groq())


def test_the_body() -> None:
    body = BACKEND.body()
    assert (body["reasoning_format"], body["reasoning_effort"]) == ("parsed", "high")
    assert body["messages"][1] == {"role": "assistant", "content": "a"}
    assert not {"top_k", "logprobs", "logit_bias", "n"} & set(body)
    assert not any("name" in message for message in body["messages"])


def test_thinking_switched_off() -> None:
    assert BACKEND.body(OFF)["reasoning_effort"] == "none"


@pytest.mark.anyio
async def test_a_model_that_takes_no_format_is_asked_without() -> None:
    refusal = {"error": {"message": "reasoning_format is not supported with this model"}}
    assert await BACKEND.asked(HI, refusal, "reasoning_format") == ["parsed", None]


def test_usage_on_the_last_chunk() -> None:
    assert BACKEND.recorded("groq/reasoning_stream.sse").usage == Usage(20, 9)


def test_reasoning() -> None:
    assert BACKEND.answer(reasoning="t", reasoning_fields=("reasoning",)).thinking == "t"


def test_a_schema_beside_tools_goes_into_the_prompt() -> None:
    asked = attrs.evolve(HI, output_schema={"type": "object", "title": "T"})
    assert BACKEND.body(asked)["response_format"]["type"] == "json_schema"
    body = BACKEND.body(attrs.evolve(asked, tools=FULL.tools))
    assert "response_format" not in body
    assert '"title":"T"' in body["messages"][0]["content"]


def test_an_answer_after_a_schema_is_not_streamed() -> None:
    asked = attrs.evolve(HI, stream=True, output_schema={"type": "object"})
    assert (BACKEND.body(attrs.evolve(HI, stream=True))["stream"], BACKEND.body(asked)["stream"]) == (True, False)
    assert BACKEND.body(attrs.evolve(asked, tools=FULL.tools))["stream"] is True
