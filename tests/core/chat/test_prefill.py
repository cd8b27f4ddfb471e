from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.prefill import Prefill, continued, prefill_of
from core.errors import RequestError
from core.request import Message, Request, TextBlock, ThinkingBlock, ToolUseBlock

USER = {"role": "user", "content": "hi"}
BEGUN = {"role": "assistant", "content": "The answer is"}
CALLS: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [{}]}
ASK = Request("message")


@pytest.mark.parametrize(
    ("dialect", "fields", "last"),
    [
        (Dialect(), {}, BEGUN),
        (Dialect(prefill="continue"), {"add_generation_prompt": False, "continue_final_message": True}, BEGUN),
        (Dialect(prefill="prefix"), {}, {**BEGUN, "prefix": True}),
    ],
)
def test_a_last_turn_of_the_model_s(dialect: Dialect, fields: dict[str, Any], last: dict[str, Any]) -> None:
    messages = [USER, dict(BEGUN)]
    assert continued(messages, ASK, dialect) == fields
    assert messages == [USER, last]


def test_a_refusal_is_in_the_api_s_words_and_a_count_is_not_refused() -> None:
    dialect = Dialect(prefill="refuse")
    with pytest.raises(RequestError) as caught:
        continued([USER, BEGUN], ASK, dialect)
    assert caught.value.message == (
        "This model does not support assistant message prefill. The conversation must end with a user message."
    )
    assert continued([USER, BEGUN], Request("count_tokens"), dialect) == {}


@pytest.mark.parametrize("prefill", ["as_is", "continue", "prefix", "refuse"])
@pytest.mark.parametrize("messages", [[], [USER], [BEGUN, USER], [USER, CALLS]])
def test_anything_else_is_no_prefill(messages: list[dict[str, Any]], prefill: Any) -> None:
    sent = [dict(message) for message in messages]
    assert continued(sent, ASK, Dialect(prefill=prefill)) == {}
    assert sent == messages


HELLO = Message("user", (TextBlock("hi"),))
OPEN = Message("assistant", (TextBlock("One,"),))
THINKS = Message("assistant", (ThinkingBlock("hm"), TextBlock("One,"), TextBlock(" two,")))
CALLING = Message("assistant", (TextBlock("One,"), ToolUseBlock("c0", "f")))
LATE = Message("system", (TextBlock("brief"),))
CLEARED = Message("system", ())


@pytest.mark.parametrize(
    ("turns", "prefill"),
    [
        ((), Prefill()),
        ((OPEN, HELLO), Prefill()),
        ((HELLO, OPEN), Prefill("One,")),
        ((HELLO, THINKS), Prefill("One, two,", "hm")),
        ((HELLO, OPEN, CLEARED, OPEN), Prefill("One,One,")),
        ((HELLO, OPEN, LATE), Prefill()),
        ((HELLO, CALLING), Prefill()),
    ],
)
def test_what_the_answer_shall_continue(turns: tuple[Message, ...], prefill: Prefill) -> None:
    assert prefill_of(Request("message", messages=turns)) == prefill
