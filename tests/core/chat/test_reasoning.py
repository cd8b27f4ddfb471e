from __future__ import annotations

from typing import Any

import pytest

from core.chat.reasoning import ReasoningField

BOTH = ("reasoning", "reasoning_content")


@pytest.mark.parametrize(
    ("names", "delta", "expected"),
    [
        ((), {"reasoning_content": "a"}, "a"),
        ((), {"reasoning": "a"}, "a"),
        ((), {"reasoning": "a", "reasoning_content": "a"}, "a"),
        (BOTH, {"reasoning": "", "reasoning_content": "a"}, "a"),
        (BOTH, {"reasoning": None, "reasoning_content": "a"}, "a"),
        (BOTH, {"reasoning": "a", "reasoning_content": "b"}, "a"),
        (BOTH[::-1], {"reasoning": "a", "reasoning_content": "b"}, "b"),
        (("reasoning",), {"reasoning_content": "a"}, ""),
        ((), {"reasoning": {"effort": "low"}, "reasoning_content": ["a"]}, ""),
        ((), {"reasoning": None}, ""),
        ((), {}, ""),
        ((), {"reasoning": "\n"}, "\n"),
        ((), {"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"summary": "b"}]}, "ab"),
        ((), {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}, "a"),
        ((), {"reasoning": None, "reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]}, "a"),
        ((), {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}, None, "a", {"text": 7}]}, ""),
        (("reasoning",), {"reasoning_details": [{"text": "a"}]}, ""),
    ],
)
def test_the_first_that_says_something(names: tuple[str, ...], delta: dict[str, Any], expected: str) -> None:
    assert ReasoningField(*names)(delta) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"say": "a"}, {"say": "b"}], "ab"),
        ([{"text": "a"}, {"tell": "b"}], "b"),
        ([{"say": "a", "tell": "b"}, {"say": "", "tell": "c"}], "ac"),
        ([{"say": ["a"]}, None, "b"], ""),
        ("a", "a"),
    ],
)
def test_the_items_of_a_list_may_have_their_text_in_other_fields(value: Any, expected: str) -> None:
    assert ReasoningField("voice", texts=("say", "tell"))({"voice": value}) == expected
