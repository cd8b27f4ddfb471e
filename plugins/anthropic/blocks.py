"""Content blocks: JSON -> the blocks of core.request. Fields nobody knows and `cache_control` are passed over."""

from __future__ import annotations

from typing import Any

from cattrs import Converter

from core import (
    OtherBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from plugins.anthropic.faults import FaultError
from plugins.anthropic.plain import plainly
from plugins.anthropic.scalars import Hook
from plugins.anthropic.sources import document_hook, image_hook
from plugins.anthropic.structure import class_hook, json_object, list_of, tagged


def content_hook(converter: Converter) -> Hook:
    """A hook for a message's `content`: a string, which is one text block, or a list of blocks of any type."""
    text, image = class_hook(converter, TextBlock), image_hook(converter)
    document = document_hook(converter, _nonempty(_string_or(tagged({"text": text, "image": image}, _other))))
    found = class_hook(converter, SearchResultBlock, content=list_of(tagged({"text": text})))
    inner = {
        "text": text,
        "image": image,
        "document": document,
        "search_result": found,
        "tool_reference": class_hook(converter, ToolReferenceBlock),
    }
    result = class_hook(converter, ToolResultBlock, content=_nonempty(_string_or(tagged(inner, _other))))
    every = {
        **inner,
        "tool_use": class_hook(converter, ToolUseBlock),
        "tool_result": result,
        "thinking": class_hook(converter, ThinkingBlock),
        "redacted_thinking": class_hook(converter, RedactedThinkingBlock),
    }
    return _string_or(plainly(tagged(every, _other)))


def system_hook(converter: Converter) -> Hook:
    """A hook for the top-level `system`: a string or text blocks."""
    return _string_or(tagged({"text": class_hook(converter, TextBlock)}))


def _string_or(block: Hook) -> Hook:
    blocks = list_of(block)

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if value.__class__ is str:
            return (TextBlock(value),)
        if value.__class__ is list:
            return blocks(value, None)  # type: ignore[no-any-return]
        raise FaultError("Input should be a valid string or list")

    return structure


def _nonempty(blocks: Hook) -> Hook:
    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        return tuple([block for block in blocks(value, None) if block.__class__ is not TextBlock or block.text])

    return structure


def _other(value: dict[str, Any], _: Any) -> OtherBlock:
    return OtherBlock(value["type"], json_object(value))
