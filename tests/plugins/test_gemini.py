from __future__ import annotations

import attrs
import pytest

from core.deltas import State
from plugins.gemini import UNSIGNED, Gemini
from tests.plugins.backends import FULL, HI, OFF, Backend, loop

BACKEND = Backend(Gemini())

SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}


def test_the_body() -> None:
    body = BACKEND.body()
    assert (body["max_tokens"], body["reasoning_effort"]) == (9, "high")
    assert not {"top_k", "parallel_tool_calls"} & set(body)
    assert body["messages"][1] == {"role": "assistant", "content": "a"}


@pytest.mark.parametrize("file", ["signature.json", "signature_stream.sse"])
def test_a_signature_comes_with_its_call(file: str) -> None:
    found = BACKEND.recorded(f"gemini/{file}")
    assert [dict(state.calls) for state in found.states] == [{"function-call-1": {"extra_content": SIGNED}}]
    assert [name for name, _ in found.calls] == ["get_weather", "get_time"]


def test_a_signature_goes_back_with_its_call() -> None:
    state = State(calls={"call_1": {"extra_content": SIGNED}})
    assert BACKEND.body(loop(state=state))["messages"][1]["tool_calls"][0]["extra_content"] == SIGNED


def test_a_call_of_another_model_is_marked() -> None:
    assert BACKEND.body(loop())["messages"][1]["tool_calls"][0]["extra_content"] == UNSIGNED


@pytest.mark.anyio
async def test_a_model_that_always_thinks_is_asked_without_the_switch() -> None:
    refusal = [{"error": {"code": 400, "message": "Budget 0 is invalid. This model only works in thinking mode."}}]
    assert await BACKEND.asked(OFF, refusal, "reasoning_effort") == ["none", None]


def test_a_schema_beside_tools_goes_into_the_prompt() -> None:
    asked = attrs.evolve(HI, output_schema={"type": "object", "title": "T"})
    assert BACKEND.body(asked)["response_format"]["type"] == "json_schema"
    body = BACKEND.body(attrs.evolve(asked, tools=FULL.tools))
    assert "response_format" not in body
    assert '"title":"T"' in body["messages"][0]["content"]
