"""Images and documents: their `source`, which comes in five shapes, and the blocks around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from cattrs import Converter

from core import DocumentBlock, ImageBlock, OtherBlock, TextBlock
from plugins.anthropic.faults import FaultError
from plugins.anthropic.scalars import Hook
from plugins.anthropic.structure import class_hook, tagged


@attrs.frozen
class DataSource:
    """`source` of type `base64` or `text`."""

    data: str
    media_type: str = ""


@attrs.frozen
class URLSource:
    """`source` of type `url`."""

    url: str


@attrs.frozen
class FileSource:
    """`source` of type `file`."""

    file_id: str


@attrs.frozen
class ContentSource:
    """`source` of type `content`: text and image blocks."""

    content: tuple[TextBlock | ImageBlock | OtherBlock, ...]


@attrs.frozen
class Image:
    """An `image` block as it comes; the source is already ours."""

    source: ImageBlock


@attrs.frozen
class Document:
    """A `document` block as it comes; the source is already ours, but for what stands beside it."""

    source: DocumentBlock
    title: str = ""
    context: str = ""


def image_hook(converter: Converter) -> Hook:
    """A hook for an `image` block."""

    def base64(source: DataSource) -> ImageBlock:
        media_type, data = _split_data_uri(source)
        if not media_type:
            raise FaultError("Field required", "media_type")
        # Not a registered type, but what some clients call it; engines may know only the registered one.
        return ImageBlock(media_type="image/jpeg" if media_type == "image/jpg" else media_type, data=data)

    variants = {
        "base64": _made(converter, DataSource, base64),
        "url": _made(converter, URLSource, lambda source: ImageBlock(url=source.url)),
        "file": _made(converter, FileSource, lambda source: ImageBlock(file_id=source.file_id)),
    }
    block = class_hook(converter, Image, source=tagged(variants))
    return lambda value, _: block(value, None).source


def document_hook(converter: Converter, content: Hook) -> Hook:
    """A hook for a `document` block; `content` reads the blocks of a source of that type."""

    def base64(source: DataSource) -> DocumentBlock:
        media_type, data = _split_data_uri(source)
        return DocumentBlock(media_type=media_type or "application/pdf", data=data)

    inner = class_hook(converter, ContentSource, content=content)
    variants = {
        "base64": _made(converter, DataSource, base64),
        "text": _made(converter, DataSource, lambda source: DocumentBlock(text=source.data)),
        "content": lambda value, _: DocumentBlock(content=inner(value, None).content),
        "url": _made(converter, URLSource, lambda source: DocumentBlock(url=source.url)),
        "file": _made(converter, FileSource, lambda source: DocumentBlock(file_id=source.file_id)),
    }
    block = class_hook(converter, Document, source=tagged(variants))

    def structure(value: Any, _: Any) -> DocumentBlock:
        document: Document = block(value, None)
        return attrs.evolve(document.source, title=document.title, context=document.context)

    return structure


def _made(converter: Converter, kind: type[Any], make: Callable[[Any], Any]) -> Hook:
    """A hook that reads an object as `kind` and makes our block of it."""
    hook = class_hook(converter, kind)
    return lambda value, _: make(hook(value, None))


def _split_data_uri(source: DataSource) -> tuple[str, str]:
    """Media type and bare base64; some clients send a whole `data:` URI where only its data belongs."""
    if source.data.startswith("data:"):
        head, comma, data = source.data[5:].partition(",")
        if comma:
            return source.media_type or head.partition(";")[0], data
    return source.media_type, source.data
