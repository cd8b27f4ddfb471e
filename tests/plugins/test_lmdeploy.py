from __future__ import annotations

import attrs

from plugins.lmdeploy import LMDeploy
from tests.plugins.backends import ENDED, FULL, HI, OFF, Backend

BACKEND = Backend(LMDeploy())


def test_the_body() -> None:
    body = BACKEND.body(attrs.evolve(FULL, stop_sequences=tuple("0123456789")))
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "t"}
    assert (body["top_k"], len(body["stop"]), body["reasoning_effort"]) == (3, 10, "high")
    assert body["chat_template_kwargs"] == {"enable_thinking": True}


def test_thinking_switched_off() -> None:
    body = BACKEND.body(OFF)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "reasoning_effort" not in body


def test_effort_max_is_known_and_xhigh_is_not() -> None:
    efforts = {word: BACKEND.body(attrs.evolve(HI, effort=word))["reasoning_effort"] for word in ("xhigh", "max")}
    assert efforts == {"xhigh": "high", "max": "max"}


def test_answers() -> None:
    found = BACKEND.answer(reasoning="t")
    assert (found.thinking, found.stop) == ("t", ENDED)
