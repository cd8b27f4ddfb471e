from __future__ import annotations

from typing import Any

import orjson
import pytest
from cattrs.errors import BaseValidationError
from hypothesis import given
from hypothesis import strategies as st

from core import TextBlock, ToolResultBlock, ToolUseBlock
from plugins.anthropic.blocks import content_hook
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.plain import plainly
from plugins.anthropic.structure import new_converter

KINDS = ("text", "tool_use", "tool_result", "image", "thinking", "other")
FIELDS = ("type", "text", "id", "name", "input", "tool_use_id", "content", "is_error", "cache_control", "citations")
TEXT = {"type": "text", "text": "a"}
RESULT = {"type": "tool_result", "tool_use_id": "i"}
CALL = {"type": "tool_use", "id": "i", "name": "n"}


def left(value: Any, _: Any) -> Any:
    """The general way, as a witness."""
    return ("left", value)


@pytest.mark.parametrize(
    ("value", "block"),
    [
        (TEXT, TextBlock("a")),
        ({"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}, TextBlock("")),
        ({**CALL, "input": {}}, ToolUseBlock("i", "n", {})),
        ({**CALL, "input": {"a": 1, "b": None}}, ToolUseBlock("i", "n", {"a": 1, "b": None})),
        (RESULT, ToolResultBlock("i")),
        ({**RESULT, "content": None, "is_error": None}, ToolResultBlock("i")),
        ({**RESULT, "content": ""}, ToolResultBlock("i")),
        ({**RESULT, "content": "a", "is_error": True}, ToolResultBlock("i", (TextBlock("a"),), is_error=True)),
        ({**RESULT, "content": [TEXT, {"type": "text", "text": ""}]}, ToolResultBlock("i", (TextBlock("a"),))),
    ],
)
def test_plain_blocks_are_read(value: Any, block: Any) -> None:
    assert plainly(left)(value, None) == block


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        {},
        {"type": ["text"]},
        {"type": "thinking", "thinking": "t"},
        {"type": "text", "text": None},
        {**CALL, "id": 1, "input": {}},
        {**CALL, "input": None},
        {**CALL, "input": {"a": {"b": 1}}},
        {**CALL, "input": {"a": [1]}},
        {**RESULT, "tool_use_id": None},
        {**RESULT, "is_error": 0},
        {**RESULT, "content": TEXT},
        {**RESULT, "content": [TEXT, {"type": "image"}]},
        {**RESULT, "content": [{"text": "a"}]},
        {**RESULT, "content": ["a"]},
    ],
)
def test_all_else_is_left_to_the_general_way(value: Any) -> None:
    assert plainly(left)(value, None) == ("left", value)


SCALARS = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.sampled_from(("", "a", *KINDS))
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
)
TEXTS = st.fixed_dictionaries({"type": st.just("text"), "text": st.sampled_from(("", "a", "größe\n"))})
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "text": st.text(max_size=3) | VALUES,
        "id": st.just("i") | VALUES,
        "name": st.just("n") | VALUES,
        "input": st.dictionaries(st.text(max_size=2), VALUES, max_size=3) | VALUES,
        "tool_use_id": st.just("i") | VALUES,
        "content": st.text(max_size=3) | st.lists(TEXTS | VALUES, max_size=3) | VALUES,
        "is_error": st.booleans() | VALUES,
        "cache_control": VALUES,
    },
)


@given(st.lists(TEXTS | BLOCKS | VALUES, min_size=1, max_size=3))
def test_both_ways_give_the_same(content: list[Any]) -> None:
    content = orjson.loads(orjson.dumps(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugins.anthropic.blocks.plainly", lambda general: general)
        general = content_hook(new_converter())
    assert outcome(content_hook(new_converter()), content) == outcome(general, content)


def outcome(hook: Any, content: Any) -> Any:
    """The blocks, or the fault in words."""
    try:
        return hook(content, None)
    except (FaultError, BaseValidationError) as error:
        return explain(error)
