"""Content blocks to the content parts of a chat-completions message."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from core.chat.dialect import Dialect
from core.chat.documents import data_part, note_of
from core.chat.images import image_part
from core.chat.names import alias
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
"""{"type": "text", "text": str}, {"type": "image_url", "image_url": {"url": str}} or
{"type": "file", "file": {"filename": str, "file_data": str}}."""


Place = tuple[int, int]
"""Where a block stands: the index of its message, and its own."""


def path_of(place: Place) -> str:
    """The block's path, for a RequestError. Only made when there is one: a request has hundreds of blocks."""
    return f"messages.{place[0]}.content.{place[1]}"


def parts_of(block: Block, path: str, dialect: Dialect, *, noted: bool = False) -> list[Part]:
    """The content parts of one block of a user's turn or of a tool result; [] for a block that has no place there.

    `path` is the block's, for the RequestError about what cannot be sent. With `noted` a note stands for an image or a
    document that cannot be: a client cannot choose what a tool gives back, nor take back what it said in an earlier
    turn, and a refusal would leave it stuck with that for good.
    """
    match block:
        case TextBlock():
            return text_parts(block.text)
        case ImageBlock():
            return [image_part(block, path, dialect, noted=noted)]
        case DocumentBlock():
            return _document(block, path, dialect, noted=noted)
        case SearchResultBlock():
            body = "\n".join(text.text for text in block.content)
            return text_parts(f"[{block.title}] ({block.source})\n{body}")
        case ToolReferenceBlock():
            return text_parts(f"Tool {alias(block.tool_name, dialect.tool_name_limit)} is now available.")
        case OtherBlock():
            return text_parts(json_text(block.raw, path))
        case _:
            return []


def text_parts(*texts: str) -> list[Part]:
    """A text part for each text that is not empty."""
    return [{"type": "text", "text": text} for text in texts if text]


def joined(parts: Iterable[Part], between: str) -> str:
    """The parts' text."""
    return between.join(part["text"] for part in parts if part["type"] == "text")


def all_text(parts: Iterable[Part]) -> bool:
    """Whether there is nothing but text, which goes as a string: every engine takes that."""
    return all(part["type"] == "text" for part in parts)


def _document(block: DocumentBlock, path: str, dialect: Dialect, *, noted: bool) -> list[Part]:
    head = "\n".join(filter(None, (block.title, block.context)))
    parts = text_parts(head, block.text)
    for at, item in enumerate(block.content):
        parts += parts_of(item, f"{path}.source.content.{at}", dialect, noted=noted)
    if block.data or block.url or block.file_id:
        parts.append(_data(block, path, dialect, noted=noted))
    return parts


def _data(block: DocumentBlock, path: str, dialect: Dialect, *, noted: bool) -> Part:
    try:
        return data_part(block, path, dialect)
    except RequestError as error:
        if not noted:
            raise
        return {"type": "text", "text": note_of(error, path)}


def json_text(value: Any, path: str) -> str:
    """The value as JSON text. Raises RequestError for what cannot be written (nested without end, mostly)."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass
    try:
        return json.dumps(value, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError) as error:
        raise RequestError(f"{path}: this cannot be sent on as JSON: {error}") from error
