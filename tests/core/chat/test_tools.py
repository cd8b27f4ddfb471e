from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.names import alias
from core.chat.tools import tool_fields
from core.errors import RequestError
from core.request import (
    Block,
    Message,
    OtherTool,
    Request,
    TextBlock,
    Tool,
    ToolChoice,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"b": {}, "a": {}}}
STRICT: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
F, G, H = Tool("f", SCHEMA), Tool("g", {}, defer_loading=True), Tool("h", {}, defer_loading=True)
LONG = "a_long_name_" * 8


def fields(*tools: Tool | OtherTool, dialect: Dialect | None = None, **more: Any) -> dict[str, Any]:
    return tool_fields(Request("message", tools=tools, **more), dialect or Dialect())


def names(found: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in found.get("tools", [])]


# --- definitions ---


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        (F, {"name": "f", "parameters": SCHEMA}),
        (Tool("f", SCHEMA, "does"), {"name": "f", "description": "does", "parameters": SCHEMA}),
        (Tool("f", STRICT, strict=True), {"name": "f", "parameters": STRICT, "strict": True}),
        (Tool("f", STRICT, strict=False), {"name": "f", "parameters": STRICT}),
        (Tool("f", SCHEMA, strict=True), {"name": "f", "parameters": SCHEMA}),
        (Tool("f", {}, strict=False), {"name": "f", "parameters": {}}),
        (Tool(LONG, {}), {"name": alias(LONG, 64), "parameters": {}}),
    ],
)
def test_a_tool(tool: Tool, sent: dict[str, Any]) -> None:
    assert fields(tool) == {"tools": [{"type": "function", "function": sent}]}
    assert list(fields(tool)["tools"][0]["function"]) == list(sent)


def test_no_tools_no_choice() -> None:
    for tools in ((), (G,)):
        assert fields(*tools, tool_choice=ToolChoice("any", parallel=False)) == {}


def test_a_provider_s_tool_is_refused_by_name() -> None:
    tool = OtherTool("web_search_20250305", "web_search", {})
    with pytest.raises(RequestError, match=r"^tools\.1: 'web_search_20250305' ") as caught:
        fields(F, tool)
    assert caught.value.status == 400


# --- deferred tools ---


def history(*blocks: Block) -> tuple[Message, ...]:
    return (Message("user", blocks), Message("user", (TextBlock("x"),)))


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ((), ["f"]),
        (history(ToolResultBlock("c0", (TextBlock("g"), ToolReferenceBlock("g")))), ["f", "g"]),
        (history(ToolResultBlock("c0", (ToolReferenceBlock("h"), ToolReferenceBlock("g")))), ["f", "h", "g"]),
        (history(ToolUseBlock("c0", "g"), ToolUseBlock("c1", "g")), ["f", "g"]),
        (history(TextBlock("found"), ToolReferenceBlock("g")), ["f", "g"]),
        (history(ToolResultBlock("c0", (ToolReferenceBlock("nobody"),))), ["f"]),
    ],
)
def test_a_deferred_tool_is_sent_once_the_history_names_it(messages: tuple[Message, ...], sent: list[str]) -> None:
    assert names(fields(G, F, H, messages=messages)) == sent


def test_a_deferred_tool_that_must_be_called_is_sent() -> None:
    assert names(fields(F, G, tool_choice=ToolChoice("tool", "g"))) == ["f", "g"]


# --- the choice ---

ALL, NO_NAME, AUTO = ("auto", "any", "tool", "none"), ("auto", "any", "none"), ("auto",)
NAMED = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("choice", "known", "sent"),
    [
        (None, ALL, None),
        (ToolChoice(), ALL, "auto"),
        (ToolChoice("any"), ALL, "required"),
        (ToolChoice("none"), ALL, "none"),
        (ToolChoice("tool", "f"), ALL, NAMED),
        (ToolChoice("tool", "f"), NO_NAME, "required"),
        (ToolChoice("tool", "f"), AUTO, "auto"),
        (ToolChoice("any"), AUTO, "auto"),
        (ToolChoice("any"), (), None),
        (ToolChoice("tool", "f"), (), None),
        (ToolChoice(), ("any",), None),
    ],
)
def test_the_choice_is_sent_as_the_nearest_that_is_known(
    choice: ToolChoice | None, known: tuple[str, ...], sent: Any
) -> None:
    found = fields(F, dialect=Dialect(tool_choice=known), tool_choice=choice)
    assert names(found) == ["f"]
    assert found.get("tool_choice") == sent


@pytest.mark.parametrize("known", [NO_NAME, AUTO, ()])
def test_a_named_tool_goes_alone_where_it_cannot_be_named(known: tuple[str, ...]) -> None:
    tools = (Tool("a", {}), F, Tool("b", {}))
    choice = ToolChoice("tool", "f", parallel=False)
    assert names(fields(*tools, dialect=Dialect(tool_choice=known), tool_choice=choice)) == ["f"]
    assert names(fields(*tools, tool_choice=choice)) == ["a", "f", "b"]


@pytest.mark.parametrize(
    "dialect", [Dialect(tool_choice=AUTO), Dialect(tool_choice=()), Dialect(allowed_fields=("tools",))]
)
def test_without_the_word_none_no_tools_are_sent(dialect: Dialect) -> None:
    assert fields(F, dialect=dialect, tool_choice=ToolChoice("none", parallel=False)) == {}


def test_the_choice_names_the_alias() -> None:
    found = fields(Tool(LONG, {}), tool_choice=ToolChoice("tool", LONG))
    assert found["tool_choice"]["function"]["name"] == names(found)[0] == alias(LONG, 64)


@pytest.mark.parametrize(
    ("field", "parallel", "sent"), [(True, False, False), (True, True, None), (False, False, None)]
)
def test_parallel_calls(field: bool, parallel: bool, sent: bool | None) -> None:
    found = fields(F, dialect=Dialect(parallel_tool_calls=field), tool_choice=ToolChoice(parallel=parallel))
    assert found.get("parallel_tool_calls") is sent
