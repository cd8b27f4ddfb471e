from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.usage import UsageField, together, usage_of
from core.deltas import Usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}, Usage(11, 7)),
        ({"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": None}, Usage(11, 7)),
        ({"prompt_tokens": 11, "prompt_tokens_details": {"cached_tokens": None}}, Usage(11)),
        ({"prompt_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(11, 0, 4)),
        ({"prompt_tokens": 11, "prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 6}, Usage(11, 0, 5)),
        (
            {"prompt_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}},
            Usage(11, 0, 4, 2),
        ),
        ({"prompt_tokens": 11, "prompt_tokens_details": {"created_cache_tokens": 3}}, Usage(11, 0, 0, 3)),
        ({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 5}}, Usage(0, 7)),
        ({"prompt_tokens": 20, "total_tokens": 30}, Usage(20, 10)),
        ({"prompt_tokens": 20, "completion_tokens": 0, "total_tokens": 30}, Usage(20, 10)),
        ({"completion_tokens": 7, "total_tokens": 30}, Usage(23, 7)),
        ({"prompt_tokens": 20, "total_tokens": 20}, Usage(20)),
        ({"prompt_tokens": 20, "total_tokens": 7}, Usage(20)),
        ({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 99}, Usage(20, 5)),
        ({"prompt_tokens": 3.0, "completion_tokens": True}, Usage(3)),
        ({"prompt_tokens": -1, "completion_tokens": 7}, Usage(0, 7)),
        ({"prompt_tokens": 11, "completion_tokens": 10**30}, Usage(11)),
        ({"prompt_tokens": 11, "completion_tokens": None, "prompt_tokens_details": [1]}, Usage(11)),
        ({"prompt_tokens": 11, "completion_tokens": float("inf")}, Usage(11)),
    ],
)
def test_counts(usage: dict[str, Any], expected: Usage) -> None:
    assert usage_of({"usage": usage}) == expected
    assert usage_of({"usage": None, "x_groq": {"id": "req_1", "usage": usage}}) == expected
    assert usage_of({"choices": [], "usage": usage}) == expected


@pytest.mark.parametrize("reasoning", [4, 0, None])
@pytest.mark.parametrize(("total", "apart"), [(18, False), (22, True), (None, False), (99, False)])
def test_reasoning_that_stands_beside_the_completion_is_added(reasoning: int | None, total: Any, apart: bool) -> None:
    usage: dict[str, Any] = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": total}
    usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    assert usage_of({"usage": usage}) == Usage(11, 11 if apart and reasoning else 7)


NO_USAGE: list[Any] = [None, {}, [], 7, "none", {"total_tokens": 9}, {"prompt_tokens": 0, "completion_tokens": 0}]
NO_USAGE += [{"prompt_tokens": count, "completion_tokens": None} for count in ("9", -1, float("nan"), True)]


@pytest.mark.parametrize("usage", NO_USAGE)
def test_no_counts(usage: Any) -> None:
    assert usage_of({"usage": usage}) is None
    assert usage_of({"x_groq": {"usage": usage}}) is None
    assert usage_of({"x_groq": usage}) is None


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers(), max_size=1)
)
DETAILS = st.dictionaries(st.sampled_from(("cached_tokens", "cache_write_tokens")), VALUES)
FIELDS = st.sampled_from(("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "prompt_tokens_details"))


@given(st.dictionaries(FIELDS, VALUES | DETAILS))
def test_counts_are_never_anything_but_counts(usage: dict[str, Any]) -> None:
    found = usage_of({"usage": usage}) or Usage()
    counts = (found.input_tokens, found.output_tokens, found.cache_read_tokens, found.cache_creation_tokens)
    assert all(type(count) is int and 0 <= count < 2**53 for count in counts)


def test_counts_told_apart_are_put_together() -> None:
    first = together(None, Usage(10, 0, 4))
    assert together(first, Usage(0, 7)) == Usage(10, 7, 4)
    assert together(first, Usage(12, 7, 5, 1)) == Usage(12, 7, 5, 1)


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"stats": {"in": 11, "out": 22}}, Usage(11, 22)),
        ({"stats": {"in": 11, "out": 22, "old": 3}}, Usage(11, 22, 3)),
        ({"stats": {"in": "11", "out": None}}, Usage()),
        ({"stats": {}}, None),
        ({"stats": [1]}, None),
        ({"usage": {"prompt_tokens": 1}}, None),
    ],
)
def test_counts_under_names_of_the_engine_s_own(chunk: dict[str, Any], expected: Usage | None) -> None:
    assert UsageField("stats", "in", "out", "old")(chunk) == expected
