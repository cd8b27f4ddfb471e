"""The step before the body is built: PDFs become their text where an engine takes no files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from core.chat.dialect import Dialect
from core.chat.document_cache import DocumentCache, Outcome
from core.chat.documents import NotBase64Error, is_pdf, note_of
from core.chat.messages import last_user_turn
from core.chat.pdf import PDFError
from core.errors import GatewayError, RequestError
from core.request import Block, DocumentBlock, Message, Request, ToolResultBlock


async def with_document_texts(request: Request, dialect: Dialect, documents: DocumentCache) -> Request:
    """The request with texts in the place of PDFs, where the dialect takes no files; the same object without PDFs.

    A note stands for a document that cannot be read in a tool result or an earlier turn. Raises RequestError, with the
    place of the fault, for any other, and GatewayError when the reading itself failed.
    """
    if dialect.files:
        return request
    wanted: set[str] = set()
    for turn in request.messages:
        _add_pdfs(turn.content, wanted)
    if not wanted:
        return request
    outcomes = await documents.texts(wanted)
    last = last_user_turn(request.messages)
    turns = [
        Message(turn.role, _read(turn.content, f"messages.{at}.content", outcomes, noted=_is_noted(turn, at, last)))
        for at, turn in enumerate(request.messages)
    ]
    return attrs.evolve(request, messages=tuple(turns))


def _is_noted(turn: Message, at: int, last: int) -> bool:
    return turn.role == "user" and at != last


def _add_pdfs(blocks: Iterable[Block], found: set[str]) -> None:
    """Add the data of each PDF among the blocks, however deep."""
    for block in blocks:
        if isinstance(block, DocumentBlock) and is_pdf(block):
            found.add(block.data)
        elif isinstance(block, (DocumentBlock, ToolResultBlock)):
            _add_pdfs(block.content, found)


def _read(blocks: Iterable[Block], path: str, outcomes: Mapping[str, Outcome], *, noted: bool) -> tuple[Block, ...]:
    """The blocks, which stand at `path`, with the outcomes of their documents."""
    out: list[Block] = []
    for at, block in enumerate(blocks):
        place = f"{path}.{at}"
        if isinstance(block, ToolResultBlock):
            inner = _read(block.content, f"{place}.content", outcomes, noted=True)
            out.append(attrs.evolve(block, content=inner))
        elif not isinstance(block, DocumentBlock):
            out.append(block)
        elif is_pdf(block):
            text = _text(outcomes[block.data], place, noted=noted)
            out.append(attrs.evolve(block, media_type="text/plain", data="", text=text))
        else:
            inner = _read(block.content, f"{place}.source.content", outcomes, noted=noted)
            out.append(attrs.evolve(block, content=inner))
    return tuple(out)


def _text(outcome: Outcome, path: str, *, noted: bool) -> str:
    if isinstance(outcome, str):
        return outcome
    error = _error(outcome, path)
    if not noted:
        raise error from outcome
    return note_of(error, path)


def _error(outcome: Exception, path: str) -> GatewayError:
    if isinstance(outcome, PDFError):
        return RequestError(
            f"{path}.source: this document {outcome}, and this model takes no PDF files; send its text or its pages as "
            "images"
        )
    if isinstance(outcome, NotBase64Error):
        return RequestError(f"{path}.source.data: {outcome}")
    return GatewayError(f"{path}.source: the text of this document could not be read now; try again")
