from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.dialect import Dialect
from core.chat.names import alias, restorer
from core.request import Message, OtherTool, Request, TextBlock, Tool, ToolUseBlock

LONG = "mcp__a_server_with_a_long_name__" + "a_tool_with_a_long_name_" * 3


@pytest.mark.parametrize("name", ["f", "a-b_C9", "x" * 64])
def test_a_fitting_name_stays(name: str) -> None:
    assert alias(name, 64) == name


def test_an_alias_begins_as_the_name_does_and_never_changes() -> None:
    assert alias(LONG, 64) == LONG[:53] + "_60ef6f9674"
    assert alias("mcp.server/find it", 64).startswith("mcp_server_find_it_")
    assert alias("x" * 65, 64) != alias("x" * 66, 64)
    assert alias("a.b", 64) != alias("a/b", 64)


@given(st.text(), st.integers(1, 128))
def test_an_alias_fits(name: str, limit: int) -> None:
    found = alias(name, limit)
    assert re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{limit}}}", found)
    assert alias(found, limit) == found


def test_the_restorer_knows_the_aliases_of_tools_and_of_calls() -> None:
    request = Request(
        "message",
        messages=(Message("assistant", (TextBlock("a"), ToolUseBlock("c0", "old.tool"), ToolUseBlock("c1", "f"))),),
        tools=(Tool("f", {}), Tool(LONG, {}), Tool("x" * 30, {}), OtherTool("web_search_20250305", "web_search", {})),
    )
    assert restorer(request, Dialect()) == {alias(LONG, 64): LONG, alias("old.tool", 64): "old.tool"}
    assert set(restorer(request, Dialect(tool_name_limit=20)).values()) == {LONG, "x" * 30, "old.tool"}
    assert restorer(Request("message", tools=(Tool("f", {}),)), Dialect()) == {}
