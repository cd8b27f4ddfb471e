from __future__ import annotations

import attrs
import pytest

from core.deltas import Usage
from core.errors import RequestError
from core.request import Message, TextBlock, Tool
from plugins.transformers_serve import DIALECT, TransformersServe
from tests.plugins.backends import ENDED, FULL, HI, OFF, Backend

BACKEND = Backend(TransformersServe())


def test_the_body_holds_known_fields_alone() -> None:
    body = BACKEND.body(attrs.evolve(FULL, stream=True, output_schema={"type": "object"}))
    assert set(body) <= set(DIALECT.allowed_fields)
    assert body["chat_template_kwargs"] == {"enable_thinking": True}
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][2] == {"role": "assistant", "content": "a"}


def test_the_operator_may_send_a_generation_config() -> None:
    body = BACKEND.body(FULL, extra_body={"generation_config": '{"top_k": 5}'})
    assert body["generation_config"] == '{"top_k": 5}'


def test_thinking_switched_off() -> None:
    assert BACKEND.body(OFF)["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_named_choice_leaves_that_tool_alone() -> None:
    body = BACKEND.body(attrs.evolve(FULL, tools=(*FULL.tools, Tool("g", {"type": "object"}))))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["f"]


def test_a_last_turn_of_the_model_s_is_refused() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    with pytest.raises(RequestError, match="prefill"):
        BACKEND.body(attrs.evolve(HI, messages=turns))


def test_answers() -> None:
    assert BACKEND.answer(reasoning="t", usage_at="finish").usage == Usage(11, 7)
    assert BACKEND.answer(choice={"stop_reason": "5"}).stop == ENDED
