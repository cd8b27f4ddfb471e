from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.estimate import FILE_TOKENS, IMAGE_TOKENS, TokenEstimate, estimate_input_tokens, estimate_tokens
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    OtherTool,
    RedactedThinkingBlock,
    Request,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    Tool,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)

LONG = "x" * 400


def asked(*blocks: Block, **fields: Any) -> int:
    return estimate_input_tokens(Request("message", messages=(Message("user", blocks),), **fields))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("漢字漢字", 3), ("привет", 3), ("😀", 1), ("\ud800", 1)],
)
def test_four_bytes_are_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_running_estimate_does_not_depend_on_the_cuts(pieces: list[str]) -> None:
    total = TokenEstimate()
    for piece in pieces:
        total.add(piece)
    assert total.tokens == estimate_tokens("".join(pieces))


def test_known_tokens_are_added() -> None:
    total = TokenEstimate()
    total.add_tokens(5)
    total.add("abc")
    assert total.tokens == 6


@pytest.mark.parametrize(
    ("block", "least", "most"),
    [
        (TextBlock(LONG), 100, 110),
        (ToolUseBlock("i", "f", {"a": LONG}), 100, 120),
        (ToolResultBlock("i", (TextBlock(LONG),)), 100, 120),
        (ImageBlock(media_type="image/png", data="A" * 10**6), IMAGE_TOKENS, IMAGE_TOKENS + 10),
        (DocumentBlock(data="A" * 10**6), FILE_TOKENS, FILE_TOKENS + 10),
        (DocumentBlock(text=LONG, title=LONG, content=(TextBlock(LONG),)), 300, 310),
        (SearchResultBlock("s", "t", (TextBlock(LONG),)), 100, 110),
        (OtherBlock("x", {"a": LONG}), 100, 110),
        (ThinkingBlock(LONG, LONG), 0, 10),
        (RedactedThinkingBlock(LONG), 0, 10),
    ],
)
def test_each_block_counts(block: Block, least: int, most: int) -> None:
    assert least <= asked(block) <= most


def test_system_tools_and_schema_count() -> None:
    bare = asked(TextBlock("hi"))
    assert asked(TextBlock("hi"), system=(TextBlock(LONG),)) >= bare + 100
    assert asked(TextBlock("hi"), tools=(Tool("f", {"a": LONG}, LONG),)) >= bare + 200
    assert asked(TextBlock("hi"), tools=(OtherTool("t", "f", {"a": LONG}),)) >= bare + 100
    assert asked(TextBlock("hi"), output_schema={"a": LONG}) >= bare + 100


def test_a_deferred_tool_counts_once_it_is_referenced() -> None:
    tools = (Tool("f", {}, LONG, defer_loading=True),)
    named = ToolResultBlock("i", (ToolReferenceBlock("f"),))
    assert asked(named, tools=tools) >= asked(named) + 100
    assert asked(TextBlock("hi"), tools=tools) == asked(TextBlock("hi"))


def test_what_json_cannot_write_is_counted_too() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    assert asked(OtherBlock("x", deep)) > 300
    assert asked(OtherBlock("x", {"a": "\ud800"})) > 0


def test_nothing_is_nothing() -> None:
    assert estimate_input_tokens(Request("message")) == 0
