from __future__ import annotations

import attrs
import pytest

from core.deltas import Usage
from core.request import Message, TextBlock
from plugins.deepseek import DeepSeek
from tests.plugins.backends import HI, OFF, Backend, loop

BACKEND = Backend(DeepSeek())


def test_the_body() -> None:
    body = BACKEND.body()
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}
    assert (body["thinking"], body["reasoning_effort"]) == ({"type": "enabled"}, "xhigh")
    assert not {"top_k", "parallel_tool_calls"} & set(body)


def test_thinking_switched_off() -> None:
    body = BACKEND.body(OFF)
    assert body["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in body


@pytest.mark.parametrize("thinking", ["t", ""])
def test_a_turn_with_calls_brings_its_reasoning_back(thinking: str) -> None:
    turn = BACKEND.body(loop(thinking=thinking))["messages"][1]
    assert (turn["reasoning_content"], len(turn["tool_calls"])) == (thinking, 1)


def test_a_schema_goes_into_the_prompt_beside_json_mode() -> None:
    body = BACKEND.body(attrs.evolve(HI, output_schema={"type": "object", "title": "T"}))
    assert body["response_format"] == {"type": "json_object"}
    assert '"title":"T"' in body["messages"][0]["content"]


def test_a_last_turn_of_the_model_s_is_a_prefix() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    assert BACKEND.body(attrs.evolve(HI, messages=turns))["messages"][-1]["prefix"] is True


def test_cached_tokens() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 3, "prompt_cache_hit_tokens": 16, "prompt_cache_miss_tokens": 4}
    assert BACKEND.answer(usage=usage).usage == Usage(20, 3, 16)
