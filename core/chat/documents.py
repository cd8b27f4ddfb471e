"""Documents given as data: passed on as a file, or decoded."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from core.chat.dialect import Dialect
from core.errors import GatewayError, RequestError
from core.request import DocumentBlock

_PDF: Final = "application/pdf"
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/yaml")


class NotBase64Error(Exception):
    """The data is no base64."""


def data_part(block: DocumentBlock, path: str, dialect: Dialect) -> dict[str, Any]:
    """The content part of a document that comes as base64 `data`, by URL or by a file's id.

    A PDF is a `file` part where the dialect takes files; where it does not, `with_document_texts` has put the text in
    its place before. Raises RequestError, with the place of the fault.
    """
    if block.url or block.file_id:
        kind = "a document by URL is not fetched" if block.url else "files by id are not kept"
        remedy = ", or have the gateway's operator list the plugin fetch_urls" if block.url else ""
        raise RequestError(f"{path}.source: {kind} here; send the document as base64 or as text{remedy}")
    media_type = _media_type(block)
    if media_type.startswith(_TEXTS):
        try:
            return {"type": "text", "text": decoded(block.data).decode("utf-8-sig", "replace")}
        except NotBase64Error as error:
            raise RequestError(f"{path}.source.data: {error}") from error
    if media_type != _PDF:
        raise RequestError(f"{path}.source.media_type: {media_type!r} cannot be read here; send a PDF or text")
    if not dialect.files:
        raise RequestError(f"{path}.source: this model takes no PDF files, and the text of this one was not read")
    url = f"data:{_PDF};base64,{block.data}"
    return {"type": "file", "file": {"filename": _filename(block.title), "file_data": url}}


def is_pdf(block: DocumentBlock) -> bool:
    """Whether the document is a PDF given as data."""
    return bool(block.data) and _media_type(block) == _PDF


def decoded(data: str) -> bytes:
    """The bytes of base64, in lines or not. Raises NotBase64Error."""
    try:
        return b64decode("".join(data.split()), validate=True)
    except ValueError as error:
        raise NotBase64Error("this is not base64") from error


def note_of(error: GatewayError, path: str) -> str:
    """The note that stands for the document at `path` where it is not refused with that error."""
    fault = error.message.removeprefix(f"{path}.").partition(": ")[2]
    return f"[A document was here that cannot be read: {fault}]"


def _media_type(block: DocumentBlock) -> str:
    return block.media_type.lower().partition(";")[0].strip()


def _filename(title: str) -> str:
    return title if title.lower().endswith(".pdf") else f"{title or 'document'}.pdf"
