from __future__ import annotations

import copy
from typing import Any

import pytest

from core.chat.restore import restore_names

NAMES = {"short": "a_very_long_name", "a": "b", "b": "c"}


def chunk(delta: Any, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **choice}]}


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"tool_calls": [{"function": {"name": "short"}}]}, {"tool_calls": [{"function": {"name": NAMES["short"]}}]}),
        ({"tool_calls": [{"function": {"name": " a "}}]}, {"tool_calls": [{"function": {"name": "b"}}]}),
        (
            {"tool_calls": [{"function": {"name": "a"}}, {"function": {"name": "b"}}]},
            {"tool_calls": [{"function": {"name": "b"}}, {"function": {"name": "c"}}]},
        ),
        ({"tool_calls": {"function": {"name": "a"}}}, {"tool_calls": {"function": {"name": "b"}}}),
        ({"function_call": {"name": "a", "arguments": "a"}}, {"function_call": {"name": "b", "arguments": "a"}}),
    ],
)
def test_the_client_s_name_takes_the_place_of_the_alias(delta: Any, expected: Any) -> None:
    chunks = [chunk(delta, finish_reason="tool_calls")]
    restore_names(chunks, NAMES)
    assert chunks == [chunk(expected, finish_reason="tool_calls")]


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "short", "tool_calls": None},
        {"tool_calls": [None, 7, {}, {"function": None}, {"function": {"name": None}}, {"function": {"name": ["a"]}}]},
        {"tool_calls": [{"function": {"name": "other", "arguments": "short"}}], "function_call": "a"},
        None,
        [],
    ],
)
def test_everything_else_is_left_alone(delta: Any) -> None:
    chunks: list[dict[str, Any]] = [chunk(delta), {}, {"choices": None}, {"choices": [chunk({}), None]}]
    before = copy.deepcopy(chunks)
    restore_names(chunks, NAMES)
    assert chunks == before


def test_without_aliases_nothing_is_done() -> None:
    chunks = [chunk({"tool_calls": [{"function": {"name": "a"}}]})]
    restore_names(chunks, {})
    assert chunks == [chunk({"tool_calls": [{"function": {"name": "a"}}]})]
