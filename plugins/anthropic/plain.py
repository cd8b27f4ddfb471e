"""What nearly all blocks and tools are, read without cattrs: text, a call of flat input, a result of text alone, a tool
of the client's own.

Agents send hundreds of them in each request. Whatever is not just as expected is left to the general way, which reads
and explains everything; where this one reads a block, both give the same.
"""

from __future__ import annotations

from typing import Any

from core import TextBlock, Tool, ToolResultBlock, ToolUseBlock
from plugins.anthropic.scalars import Hook
from plugins.anthropic.structure import json_object


def plainly(general: Hook) -> Hook:
    """A hook for one block, which asks `general` for all but the plain ones."""

    def structure(value: Any, _: Any) -> Any:
        kind = value.get("type") if value.__class__ is dict else None
        block: TextBlock | ToolUseBlock | ToolResultBlock | None = None
        if kind == "text":
            block = _text(value)
        elif kind == "tool_use":
            block = _call(value)
        elif kind == "tool_result":
            block = _result(value)
        return block or general(value, None)

    return structure


def plain_tool(value: dict[str, Any]) -> Tool | None:
    """A tool of the client's own with no more than name, description and schema; None for any other.

    Raises FaultError for a schema that is nested too deeply.
    """
    name, schema, said = value.get("name"), value.get("input_schema"), value.get("description", "")
    if name.__class__ is not str or schema.__class__ is not dict or said.__class__ is not str:
        return None
    return None if "strict" in value or "defer_loading" in value else Tool(name, json_object(schema), said)


def _text(value: dict[str, Any]) -> TextBlock | None:
    text = value.get("text")
    return TextBlock(text) if text.__class__ is str else None


def _call(value: dict[str, Any]) -> ToolUseBlock | None:
    identity, name, given = value.get("id"), value.get("name"), value.get("input")
    if identity.__class__ is not str or name.__class__ is not str or given.__class__ is not dict:
        return None
    for item in given.values():
        if item.__class__ is dict or item.__class__ is list:  # may be nested too deeply to be written again
            return None
    return ToolUseBlock(identity, name, given)


def _result(value: dict[str, Any]) -> ToolResultBlock | None:
    answered, is_error = value.get("tool_use_id"), value.get("is_error")
    if answered.__class__ is not str or not (is_error is None or is_error.__class__ is bool):
        return None
    texts = _texts(value.get("content"))
    return None if texts is None else ToolResultBlock(answered, texts, is_error is True)


def _texts(content: Any) -> tuple[TextBlock, ...] | None:
    """The content of a result that is text alone, without what is empty."""
    if content.__class__ is not list:
        if content is None or content == "":
            return ()
        return (TextBlock(content),) if content.__class__ is str else None
    blocks = []
    for item in content:
        text = item.get("text") if item.__class__ is dict and item.get("type") == "text" else None
        if text.__class__ is not str:
            return None
        if text:
            blocks.append(TextBlock(text))
    return tuple(blocks)
