"""What other providers' servers did in earlier turns: their tools' calls and results, as text that any model can read.

A call and its result become one text where the result stood; a call without a result is dropped, a mark that only its
maker needs, too. Nothing is orphaned, and nothing of it is ever refused but a file that only its maker has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from core import (
    Block,
    Message,
    OtherBlock,
    RequestError,
    TextBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from plugins.anthropic.jsontext import dumps
from plugins.anthropic.turns import CHANGES

CALLS: Final = ("server_tool_use", "mcp_tool_use")
DROPPED: Final = (*CALLS, *CHANGES, "fallback", "mcp_tool_listing")
READABLE: Final = ("title", "url", "text", "stdout", "stderr", "error_code", "tool_name", "content", "message")
"""The fields of results whose strings say something to a reader."""


def foreign_call(block: Block) -> str:
    """The id of a call that another provider's server made; "" for any other block."""
    if isinstance(block, OtherBlock) and block.type in CALLS:
        call_id = block.raw.get("id")
        return call_id if isinstance(call_id, str) else ""
    return ""


def readable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with every such block as text or left out; they keep their number and order.

    Raises RequestError for a `container_upload`, whose file is not here.
    """
    if OtherBlock not in {block.__class__ for message in messages for block in message.content}:
        return tuple(messages)
    calls: dict[str, dict[str, Any]] = {}
    out = []
    for number, message in enumerate(messages):
        if any(isinstance(block, (OtherBlock, ToolUseBlock, ToolResultBlock)) for block in message.content):
            content: list[Block] = []
            for at, block in enumerate(message.content):
                content += _readable(block, calls, f"messages.{number}.content.{at}")
            out.append(Message(message.role, tuple(content)))
        else:
            out.append(message)
    return tuple(out)


def _readable(block: Block, calls: dict[str, dict[str, Any]], place: str) -> Sequence[Block]:
    if isinstance(block, ToolUseBlock):
        calls.pop(block.id, None)
    if isinstance(block, ToolResultBlock) and block.tool_use_id in calls:
        return [TextBlock(_head(calls[block.tool_use_id], "tool")), *block.content]
    if not isinstance(block, OtherBlock):
        return [block]
    if call_id := foreign_call(block):
        calls[call_id] = block.raw
    if block.type in DROPPED:
        return ()
    if block.type == "container_upload":
        raise RequestError(f"{place}: files by id are not kept here; send the file's content")
    if block.type == "compaction":
        summary = block.raw.get("content")
        return [TextBlock(summary)] if isinstance(summary, str) else ()
    if block.type.endswith("_tool_result"):
        answered = block.raw.get("tool_use_id")
        call = calls.get(answered, {}) if isinstance(answered, str) else {}
        content = block.raw.get("content")
        lines = [_head(call, block.type.removesuffix("_tool_result")), *_lines(content)]
        return [TextBlock("\n".join(lines)), *_references(content)]
    return [block]


def _references(content: Any) -> list[Block]:
    """The tools that a search on the provider's server found: they are available from here on."""
    found = content.get("tool_references") if isinstance(content, dict) else None
    names = [item.get("tool_name") for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return [ToolReferenceBlock(name) for name in names if isinstance(name, str) and name]


def _head(call: Mapping[str, Any], name: str) -> str:
    """The call in one line, as far as it is known."""
    given = call.get("name")
    asked = dumps(call["input"]).decode() if call.get("input") else ""
    return f"[Result of {given if isinstance(given, str) else name}{' ' if asked else ''}{asked}]"


def _lines(value: Any) -> Iterator[str]:
    """All that a reader can use of a result, whatever its shape, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            text = key in READABLE or (key == "data" and value.get("type") == "text")
            if item and (text if isinstance(item, str) else isinstance(item, (dict, list))):
                yield from _lines(item)
