"""Documents given as data: passed on as a file, decoded, or their text extracted."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from core.chat.dialect import Dialect
from core.chat.pdf import PDFError, text_of
from core.errors import RequestError
from core.request import DocumentBlock

_PDF: Final = "application/pdf"
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/yaml")


def data_part(block: DocumentBlock, path: str, dialect: Dialect) -> dict[str, Any]:
    """The content part of a document that comes as base64 `data`, by URL or by a file's id.

    A PDF is a `file` part where the dialect takes files, else the text extracted from it. Raises RequestError, with the
    place of the fault.
    """
    if block.url or block.file_id:
        kind = "a document by URL is not fetched" if block.url else "files by id are not kept"
        raise RequestError(f"{path}.source: {kind} here; send the document as base64 or as text")
    media_type = block.media_type.lower().partition(";")[0].strip()
    if media_type.startswith(_TEXTS):
        return {"type": "text", "text": _decoded(block.data, path).decode("utf-8-sig", "replace")}
    if media_type != _PDF:
        raise RequestError(f"{path}.source.media_type: {media_type!r} cannot be read here; send a PDF or text")
    if dialect.files:
        url = f"data:{_PDF};base64,{block.data}"
        return {"type": "file", "file": {"filename": _filename(block.title), "file_data": url}}
    try:
        return {"type": "text", "text": text_of(_decoded(block.data, path))}
    except PDFError as error:
        raise RequestError(
            f"{path}.source: this document {error}, and this model takes no PDF files; send its text or its pages as "
            "images"
        ) from error


def _decoded(data: str, path: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"{path}.source.data: this is not base64") from error


def _filename(title: str) -> str:
    return title if title.lower().endswith(".pdf") else f"{title or 'document'}.pdf"
