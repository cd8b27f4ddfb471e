from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.deltas import State
from core.request import Request, ThinkingConfig
from plugins.openrouter import OpenRouter
from tests.plugins.backends import FULL, HI, OFF, Backend, loop

BACKEND = Backend(OpenRouter())

STATE = State({"reasoning_details": [{"type": "reasoning.text", "text": "Two and two.", "signature": "c2lnbmVk"}]})


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (HI, None),
        (OFF, {"effort": "none"}),
        (FULL, {"effort": "xhigh"}),
        (attrs.evolve(HI, effort="low"), {"effort": "low"}),
        (attrs.evolve(HI, thinking=ThinkingConfig("enabled", 5000)), {"max_tokens": 5000}),
        (attrs.evolve(HI, thinking=ThinkingConfig("adaptive")), {"enabled": True}),
    ],
)
def test_one_object_says_how_to_reason(request_: Request, expected: dict[str, Any] | None) -> None:
    body = BACKEND.body(request_)
    assert body.get("reasoning") == expected
    assert not {"reasoning_effort", "reasoning_max_tokens"} & set(body)


def test_details_go_back_unchanged() -> None:
    turn = BACKEND.body(loop(state=STATE))["messages"][1]
    assert turn["reasoning_details"] == STATE.message["reasoning_details"]
    assert "reasoning_details" not in BACKEND.body(loop())["messages"][1]


@pytest.mark.parametrize("file", ["details.json", "details_stream.sse"])
def test_details_are_kept(file: str) -> None:
    found = BACKEND.recorded(f"openrouter/{file}")
    detail = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "text": "Two and two."}
    assert found.states == (State({"reasoning_details": [{**detail, "signature": "c2lnbmVk"}]}),)
    assert (found.thinking, found.text) == ("Two and two.", "It is 4.")


def test_reasoning_in_two_fields_is_taken_once() -> None:
    assert BACKEND.answer(reasoning="t", reasoning_fields=("reasoning", "reasoning_content")).thinking == "t"
