from __future__ import annotations

import base64
from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.documents import NotBase64Error, data_part, decoded, is_pdf, note_of
from core.errors import RequestError
from core.request import DocumentBlock


def data(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (DocumentBlock("text/plain", data="YQ\n= ="), "a"),
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
            DocumentBlock("application/pdf", data="AAAA"),
            "p.source: this model takes no PDF files, and the text of this one was not read",
        ),
        (DocumentBlock("text/plain", data="ä"), "p.source.data: this is not base64"),
        (
            DocumentBlock("application/msword", data="AAAA"),
            "p.source.media_type: 'application/msword' cannot be read here; send a PDF or text",
        ),
        (
            DocumentBlock(url="https://host/a.pdf"),
            "p.source: a document by URL is not fetched here; send the document as base64 or as text, or "
            "have the gateway's operator list the plugin fetch_urls",
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


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (DocumentBlock("Application/PDF; v=1", data="AAAA"), True),
        (DocumentBlock("application/pdf", url="https://host/a.pdf"), False),
        (DocumentBlock("application/pdf", text="read"), False),
        (DocumentBlock("text/plain", data="AAAA"), False),
    ],
)
def test_which_are_pdfs(block: DocumentBlock, expected: bool) -> None:
    assert is_pdf(block) is expected


@pytest.mark.parametrize("text", ["A", "a\u00e4==", "a b-"])
def test_what_is_no_base64(text: str) -> None:
    with pytest.raises(NotBase64Error):
        decoded(text)


def test_a_note_has_the_fault_without_its_place() -> None:
    error = RequestError("p.0.source.data: this is not base64: at all")
    assert note_of(error, "p.0") == "[A document was here that cannot be read: this is not base64: at all]"
