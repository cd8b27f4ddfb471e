"""Content blocks to the content parts of a chat-completions message."""

from __future__ import annotations

from typing import Any

import orjson

from core.errors import RequestError
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    SearchResultBlock,
    TextBlock,
    ToolReferenceBlock,
)

Part = dict[str, Any]
"""{"type": "text", "text": str} or {"type": "image_url", "image_url": {"url": str}}."""


def parts_of(block: Block, path: str) -> list[Part]:
    """The content parts of one block of a user's turn or of a tool result; [] for a block that has no place there.

    `path` is the block's, for the RequestError about what cannot be sent.
    """
    match block:
        case TextBlock():
            return [{"type": "text", "text": block.text}] if block.text else []
        case ImageBlock(file_id=file_id) if file_id:
            raise RequestError(f"{path}.source: files by id are not kept here; send the image as base64")
        case ImageBlock():
            url = block.url or f"data:{block.media_type};base64,{block.data}"
            return [{"type": "image_url", "image_url": {"url": url}}]
        case DocumentBlock():
            return _document(block, path)
        case SearchResultBlock():
            body = "\n".join(text.text for text in block.content)
            return [{"type": "text", "text": f"[{block.title}] ({block.source})\n{body}"}]
        case ToolReferenceBlock():
            return [{"type": "text", "text": f"Tool {block.tool_name} is now available."}]
        case OtherBlock():
            return [{"type": "text", "text": json_text(block.raw, path)}]
        case _:
            return []


def _document(block: DocumentBlock, path: str) -> list[Part]:
    if block.data or block.url or block.file_id:
        kind = block.media_type or "a document by reference"
        raise RequestError(f"{path}.source: {kind} cannot be read by this model; send the document as text")
    head = "\n".join(filter(None, (block.title, block.context)))
    inner = [part for at, item in enumerate(block.content) for part in parts_of(item, f"{path}.source.content.{at}")]
    parts = [{"type": "text", "text": text} for text in (head, block.text) if text]
    return parts + inner


def json_text(value: Any, path: str) -> str:
    """The value as JSON text. Raises RequestError for what orjson cannot write (depth, mostly)."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise RequestError(f"{path}: this cannot be sent on as JSON: {error}") from error
