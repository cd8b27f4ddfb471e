from __future__ import annotations

import pytest

from plugins.lm_studio import LMStudio
from tests.plugins.backends import ENDED, OFF, Backend

BACKEND = Backend(LMStudio())


def test_the_body() -> None:
    body = BACKEND.body()
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}
    assert (body["max_tokens"], body["top_k"], body["reasoning_effort"]) == (9, 3, "xhigh")
    assert body["tool_choice"] == "required"
    assert "parallel_tool_calls" not in body


def test_thinking_switched_off() -> None:
    assert BACKEND.body(OFF)["reasoning_effort"] == "none"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning(field: str) -> None:
    found = BACKEND.answer(reasoning="t", reasoning_fields=(field,))
    assert (found.thinking, found.kinds) == ("t", ("Thinking", "Text"))


def test_no_match_is_made_up() -> None:
    assert BACKEND.answer(choice={"stop_reason": "5"}).stop == ENDED
