from __future__ import annotations

from base64 import b64encode

import pytest

from core.chat.body import chat_body
from core.chat.dialect import Dialect
from core.chat.document_cache import DocumentCache
from core.chat.document_texts import with_document_texts
from core.chat.pdf import PDFError
from core.chat.pdf_process import ReaderError
from core.errors import GatewayError, RequestError
from core.request import Block, DocumentBlock, ImageBlock, Message, Request, TextBlock, ToolResultBlock, ToolUseBlock
from core.route import Candidate

pytestmark = pytest.mark.anyio

HI = Message("user", (TextBlock("hi"),))
CALL = Message("assistant", (ToolUseBlock("c", "f"),))
NOTE = "[A document was here that cannot be read: {}]"
SCAN = "this document holds no text, and this model takes no PDF files; send its text or its pages as images"
LATER = "the text of this document could not be read now; try again"


def pdf(text: str, title: str = "") -> DocumentBlock:
    return DocumentBlock("application/pdf", data=b64encode(text.encode()).decode(), title=title)


BAD = DocumentBlock("application/pdf", data="A")


async def read(data: bytes) -> str:
    if data == b"scan":
        raise PDFError("holds no text")
    if data == b"killed":
        raise ReaderError("the reader ended")
    return data.decode()


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


async def prepared(*turns: Message, dialect: Dialect | None = None) -> Request:
    return await with_document_texts(Request("message", messages=turns), dialect or Dialect(), DocumentCache(read))


async def test_texts_stand_in_the_place_of_pdfs() -> None:
    nested = DocumentBlock(content=(TextBlock("x"), pdf("in")), title="N")
    result = ToolResultBlock("c", (pdf("r"), TextBlock("y"), DocumentBlock(content=(pdf("deep"),))))
    request = await prepared(user(pdf("a", "T"), nested), CALL, user(result, pdf("z")))
    body = chat_body(request, candidate=Candidate("b", "m"), dialect=Dialect(), stream=False)
    contents = [message.get("content") for message in body["messages"]]
    assert contents == ["T\n\na\n\nN\n\nx\n\nin", None, "r\ny\ndeep", "z"]


@pytest.mark.parametrize(
    ("turns", "dialect"),
    [
        ((HI, CALL), Dialect()),
        ((user(DocumentBlock("text/plain", data="AAAA"), ImageBlock(url="u:")),), Dialect()),
        ((user(pdf("a")),), Dialect(files=True)),
    ],
)
async def test_a_request_without_such_documents_stays(turns: tuple[Message, ...], dialect: Dialect) -> None:
    request = Request("message", messages=turns)
    assert await with_document_texts(request, dialect, DocumentCache(read)) is request


@pytest.mark.parametrize(
    ("block", "place", "fault", "status"),
    [
        (pdf("scan"), "source", SCAN, 400),
        (BAD, "source.data", "this is not base64", 400),
        (pdf("killed"), "source", LATER, 500),
    ],
)
async def test_what_cannot_be_read(block: DocumentBlock, place: str, fault: str, status: int) -> None:
    for blocks, path in (((block,), "1"), ((DocumentBlock(content=(TextBlock("a"), block)),), "1.source.content.1")):
        with pytest.raises(GatewayError) as caught:
            await prepared(HI, CALL, user(TextBlock("x"), *blocks))
        assert caught.value.message == f"messages.2.content.{path}.{place}: {fault}"
        assert caught.value.status == status
        assert isinstance(caught.value, RequestError) is (status == 400)
    noted = await prepared(user(block), CALL, user(ToolResultBlock("c", (TextBlock("x"), block))))
    earlier, result = noted.messages[0].content[0], noted.messages[2].content[0]
    expected = DocumentBlock("text/plain", text=NOTE.format(fault))
    assert earlier == expected
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock("x"), expected)
