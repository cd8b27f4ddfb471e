"""Tools and the choice among them, as fields of a chat-completions body."""

from __future__ import annotations

from typing import Any, Final

from core.chat.dialect import Dialect
from core.chat.names import alias
from core.chat.strict import fits_strict
from core.errors import RequestError
from core.request import OtherTool, Request, Tool, ToolChoice, ToolReferenceBlock, ToolResultBlock, ToolUseBlock

_WORDS: Final = {"auto": "auto", "any": "required", "none": "none"}


def tool_fields(request: Request, dialect: Dialect) -> dict[str, Any]:
    """`tools`, `tool_choice` and `parallel_tool_calls`; {} where no tool is sent, for the two go only with tools.

    Raises RequestError, which names it, for a tool that only the client's provider can run.
    """
    choice = request.tool_choice
    tools = _available(request)
    modes = dialect.tool_choice if dialect.takes("tool_choice") else ()
    if choice and choice.mode == "tool" and "tool" not in modes:
        # It is the only one the model could call, then: as near as such an engine comes.
        tools = [tool for tool in tools if tool.name == choice.name] or tools
    if not tools or (choice and choice.mode == "none" and "none" not in modes):
        return {}
    out: dict[str, Any] = {"tools": [_function(tool, dialect) for tool in tools]}
    if choice is None:
        return out
    if word := _choice(choice, modes, dialect):
        out["tool_choice"] = word
    if not choice.parallel and dialect.parallel_tool_calls:
        out["parallel_tool_calls"] = False
    return out


def _available(request: Request) -> list[Tool]:
    """The tools in their order, then the deferred ones that became available, as they did: prefix caches like that."""
    ready, deferred = [], {}
    for number, tool in enumerate(request.tools):
        if isinstance(tool, OtherTool):
            raise RequestError(
                f"tools.{number}: {tool.type!r} is run or defined by Anthropic's own service, which is not here; "
                "send a tool with an input_schema"
            )
        if tool.defer_loading:
            deferred[tool.name] = tool
        else:
            ready.append(tool)
    if not deferred:
        return ready
    return [*ready, *(deferred[name] for name in _named(request) if name in deferred)]


def _named(request: Request) -> dict[str, None]:
    """The tools that the history made available or called, and the one that must be called, in this order."""
    named: dict[str, None] = {}
    for message in request.messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                named[block.name] = None
            elif isinstance(block, ToolReferenceBlock):
                named[block.tool_name] = None
            elif isinstance(block, ToolResultBlock):
                named.update(
                    (inner.tool_name, None) for inner in block.content if isinstance(inner, ToolReferenceBlock)
                )
    if request.tool_choice and request.tool_choice.mode == "tool":
        named.setdefault(request.tool_choice.name)
    return named


def _choice(choice: ToolChoice, modes: tuple[str, ...], dialect: Dialect) -> Any:
    """The choice in the engine's words; None where it has none for it."""
    if choice.mode == "tool" and "tool" in modes:
        return {"type": "function", "function": {"name": alias(choice.name, dialect.tool_name_limit)}}
    mode = "any" if choice.mode == "tool" else choice.mode
    if mode not in modes:
        mode = "auto"
    return _WORDS[mode] if mode in modes else None


def _function(tool: Tool, dialect: Dialect) -> dict[str, Any]:
    function: dict[str, Any] = {"name": alias(tool.name, dialect.tool_name_limit)}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.input_schema
    if tool.strict and fits_strict(tool.input_schema):
        function["strict"] = True
    return {"type": "function", "function": function}
