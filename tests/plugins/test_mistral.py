from __future__ import annotations

import re

import attrs
import pytest

from core.request import Message, TextBlock
from plugins.mistral import DIALECT, Mistral
from tests.plugins.backends import FULL, HI, OFF, Backend, loop

BACKEND = Backend(Mistral())

PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "a"}]


def test_the_body_holds_known_fields_alone() -> None:
    body = BACKEND.body(attrs.evolve(FULL, user_id="u", stream=True))
    assert set(body) <= set(DIALECT.allowed_fields)
    assert not {"top_k", "stream_options", "user"} & set(body)
    assert (body["max_tokens"], body["reasoning_effort"]) == (9, "high")
    assert body["messages"][1] == {"role": "assistant", "content": PARTS}


def test_thinking_switched_off() -> None:
    assert BACKEND.body(OFF)["reasoning_effort"] == "none"


@pytest.mark.parametrize("identity", ["toolu_0123456789", "call_1", "0"])
def test_ids_are_nine_letters_and_digits(identity: str) -> None:
    turns = BACKEND.body(loop(identity))["messages"]
    sent = turns[1]["tool_calls"][0]["id"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", sent)
    assert turns[2]["tool_call_id"] == sent


def test_an_id_of_its_own_stays() -> None:
    assert BACKEND.body(loop("D681PevKs"))["messages"][1]["tool_calls"][0]["id"] == "D681PevKs"


def test_a_turn_stands_between_results_and_the_user() -> None:
    assert [turn["role"] for turn in BACKEND.body(loop())["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_a_last_turn_of_the_model_s_is_a_prefix() -> None:
    turns = (*HI.messages, Message("assistant", (TextBlock("One,"),)))
    assert BACKEND.body(attrs.evolve(HI, messages=turns))["messages"][-1]["prefix"] is True


def test_plain_text_and_parts() -> None:
    assert BACKEND.answer().text == "Hello."
    assert BACKEND.recorded("mistral/parts_stream.sse").kinds == ("Thinking", "Text")
