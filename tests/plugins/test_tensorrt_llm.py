from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.deltas import Stop
from core.errors import RequestError
from core.request import Message, TextBlock, ToolChoice
from plugins.tensorrt_llm import DIALECT, TensorRTLLM
from tests.plugins.backends import ENDED, FULL, HI, OFF, Backend

BACKEND = Backend(TensorRTLLM())


def test_the_body_holds_known_fields_alone() -> None:
    body = BACKEND.body(attrs.evolve(FULL, stream=True))
    assert set(body) <= set(DIALECT.allowed_fields)
    assert (body["max_tokens"], body["top_k"], body["reasoning_effort"]) == (9, 3, "high")
    assert (body["thinking"], body["thinking_token_budget"]) == ({"type": "enabled"}, 2048)
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}


@pytest.mark.parametrize("choice", [None, ToolChoice("auto")])
def test_tools_go_with_a_choice(choice: ToolChoice | None) -> None:
    assert BACKEND.body(attrs.evolve(FULL, tool_choice=choice))["tool_choice"] == "auto"


def test_without_tools_there_is_none() -> None:
    assert "tool_choice" not in BACKEND.body(HI)


@pytest.mark.anyio
async def test_a_template_without_the_switch_is_asked_without() -> None:
    refusal = {"object": "error", "message": "chat_template_kwargs {'enable_thinking'} are not used", "code": 400}
    assert await BACKEND.asked(OFF, refusal, "chat_template_kwargs") == [{"enable_thinking": False}, None]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("5", Stop("stop_sequence", "5")), (151_645, ENDED), (None, ENDED), ("<|im_end|>", ENDED)],
)
def test_the_match_is_in_stop_reason(value: Any, expected: Stop) -> None:
    assert BACKEND.answer(choice={"stop_reason": value}).stop == expected


@pytest.mark.parametrize("fields", [("reasoning_content",), ("reasoning",), ("reasoning_content", "reasoning")])
def test_reasoning_is_taken_once(fields: tuple[str, ...]) -> None:
    assert BACKEND.answer(reasoning="t", reasoning_fields=fields).thinking == "t"


def test_a_last_turn_of_the_model_s_is_refused() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    with pytest.raises(RequestError, match="prefill"):
        BACKEND.body(attrs.evolve(HI, messages=turns))
