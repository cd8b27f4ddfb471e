"""Tool results: a `tool` message each, and what a `tool` message may not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from core.chat.dialect import Dialect
from core.chat.parts import Part, Place, all_text, joined, parts_of, path_of, text_parts
from core.chat.tool_ids import ToolIds
from core.request import TextBlock, ToolResultBlock

_ERROR: Final = re.compile(r"\s*error\s*(:|$)", re.IGNORECASE)


def tool_messages(
    results: Iterable[tuple[ToolResultBlock, Place]], dialect: Dialect, ids: ToolIds
) -> tuple[list[dict[str, Any]], list[Part]]:
    """The messages of the results (each with its place), and parts for the user's message that follows.

    Where a `tool` message holds text alone, images and files go into that message, each labelled with its call's id.
    """
    messages: list[dict[str, Any]] = []
    following: list[Part] = []
    for block, place in results:
        identity = ids.sent(block.tool_use_id)
        content: str | list[Part] | None = _plain_text(block)
        if content is None:
            content = parts = _parts(block, path_of(place), dialect)
            if all_text(parts) or dialect.tool_content == "text":
                content = joined(parts, "\n")
            if content is not parts and (shown := [part for part in parts if part["type"] != "text"]):
                following += [*text_parts(f"Shown by the result of tool call {identity}:"), *shown]
        messages.append({"role": "tool", "tool_call_id": identity, "content": content})
    return messages, following


def _plain_text(block: ToolResultBlock) -> str | None:
    """The content of a result that is text and no error, as nearly all are; None for any other."""
    if block.is_error:
        return None
    texts = []
    for inner in block.content:
        if not isinstance(inner, TextBlock):
            return None
        if inner.text:
            texts.append(inner.text)
    return "\n".join(texts)


def _parts(block: ToolResultBlock, path: str, dialect: Dialect) -> list[Part]:
    parts = [
        part
        for at, inner in enumerate(block.content)
        for part in parts_of(inner, f"{path}.content.{at}", dialect, noted=True)
    ]
    if block.is_error:
        first = parts[0] if parts and parts[0]["type"] == "text" else None
        if first is None:
            return [*text_parts("Error"), *parts]
        if not _ERROR.match(first["text"]):
            return [*text_parts(f"Error: {first['text']}"), *parts[1:]]
    return parts
