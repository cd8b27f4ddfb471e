from __future__ import annotations

import base64
from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.documents import data_part
from core.errors import RequestError
from core.request import DocumentBlock
from tests.core.chat.pdfs import pdf_of


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


PDF = DocumentBlock("application/pdf", data=data(pdf_of("Hello")))


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (PDF, "Hello"),
        (DocumentBlock("application/pdf", data="\n".join((PDF.data[:60], PDF.data[60:]))), "Hello"),
        (DocumentBlock("text/plain", data=data("\ufeffgrün".encode())), "grün"),
        (DocumentBlock("Text/Markdown; charset=utf-8", data=data(b"# a\xff")), "# a\ufffd"),
        (DocumentBlock("application/json", data=data(b'{"a": 1}')), '{"a": 1}'),
    ],
)
def test_data_as_text(block: DocumentBlock, text: str) -> None:
    assert data_part(block, "p", Dialect()) == {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("title", "name"), [("", "document.pdf"), ("Report", "Report.pdf"), ("report.PDF", "report.PDF")]
)
def test_a_pdf_is_passed_on_where_files_are_taken(title: str, name: str) -> None:
    block = DocumentBlock("application/pdf", data="AAAA", title=title)
    expected: dict[str, Any] = {"filename": name, "file_data": "data:application/pdf;base64,AAAA"}
    assert data_part(block, "p", Dialect(files=True)) == {"type": "file", "file": expected}


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            DocumentBlock("application/pdf", data=data(b"no")),
            "p.source: this document cannot be read as a PDF, and this model takes no PDF files; send its text or its "
            "pages as images",
        ),
        (
            DocumentBlock("application/pdf", data=data(pdf_of(""))),
            "p.source: this document holds no text, only pictures of it perhaps, and this model takes no PDF files; "
            "send its text or its pages as images",
        ),
        (DocumentBlock("application/pdf", data="A"), "p.source.data: this is not base64"),
        (DocumentBlock("text/plain", data="ä"), "p.source.data: this is not base64"),
        (
            DocumentBlock("application/msword", data="AAAA"),
            "p.source.media_type: 'application/msword' cannot be read here; send a PDF or text",
        ),
        (
            DocumentBlock(url="https://host/a.pdf"),
            "p.source: a document by URL is not fetched here; send the document as base64 or as text",
        ),
        (
            DocumentBlock(file_id="file_1"),
            "p.source: files by id are not kept here; send the document as base64 or as text",
        ),
    ],
)
def test_what_cannot_be_read(block: DocumentBlock, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        data_part(block, "p", Dialect())
    assert caught.value.message == message
    assert caught.value.status == 400
