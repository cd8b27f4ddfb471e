"""Images as content parts, as far as a dialect takes them."""

from __future__ import annotations

from typing import Any, Final

from core.chat.dialect import Dialect
from core.errors import RequestError
from core.request import ImageBlock

_NO_URLS: Final = "this model takes no images by URL, only as base64"
_REMEDY: Final = "; where the gateway's operator lists the plugin fetch_urls for it, they are fetched"


def image_part(block: ImageBlock, path: str, dialect: Dialect, *, noted: bool = False) -> dict[str, Any]:
    """An `image_url` part; with `noted`, a text part that says so where the model cannot be shown the image.

    Raises RequestError, with the place of the fault.
    """
    if block.file_id:
        raise RequestError(f"{path}.source: files by id are not kept here; send the image as base64")
    fault = _fault(block, dialect)
    if fault and noted:
        return {"type": "text", "text": f"[An image was here that cannot be shown: {fault}]"}
    if fault:
        raise RequestError(f"{path}.source: {fault}{_REMEDY if fault == _NO_URLS else ''}")
    return {"type": "image_url", "image_url": {"url": _url(block)}}


def _fault(block: ImageBlock, dialect: Dialect) -> str:
    """Why the dialect does not take the image; "" when it does."""
    if dialect.images == "none":
        return "this model takes no images"
    if not _url(block).startswith("data:"):
        return _NO_URLS if dialect.images == "data" else ""
    media_type = _url(block)[5:].partition(",")[0].partition(";")[0].lower()
    if dialect.image_types and media_type not in dialect.image_types:
        return f"this model takes no {media_type or 'image of unknown type'}, only {', '.join(dialect.image_types)}"
    return ""


def _url(block: ImageBlock) -> str:
    return block.url or f"data:{block.media_type};base64,{block.data}"
