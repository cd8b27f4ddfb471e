from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.names import alias
from core.chat.parts import all_text, joined, json_text, parts_of, text_parts
from core.errors import RequestError
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolUseBlock,
)

PLAIN = Dialect()


def nested(depth: int) -> list[Any]:
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


DEEP = nested(100_000)


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": one} for one in texts]


def image(url: str) -> list[dict[str, Any]]:
    return [{"type": "image_url", "image_url": {"url": url}}]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (TextBlock("a"), text("a")),
        (TextBlock(""), []),
        (ImageBlock("image/png", data="AAAA"), image("data:image/png;base64,AAAA")),
        (ImageBlock(url="https://host/a.png?x=1&y"), image("https://host/a.png?x=1&y")),
        (DocumentBlock("text/plain", text="a"), text("a")),
        (DocumentBlock(text="a", title="T", context="C"), text("T\nC", "a")),
        (DocumentBlock(content=(TextBlock("a"), ImageBlock(url="u://x"))), text("a") + image("u://x")),
        (DocumentBlock(), []),
        (SearchResultBlock("https://host", "T", (TextBlock("a"), TextBlock("b"))), text("[T] (https://host)\na\nb")),
        (ToolReferenceBlock("f"), text("Tool f is now available.")),
        (ToolReferenceBlock("a.f"), text(f"Tool {alias('a.f', 64)} is now available.")),
        (DocumentBlock("text/plain", data="YQ==", title="T"), text("T", "a")),
        (OtherBlock("new", {"type": "new", "a": 1}), text('{"type":"new","a":1}')),
        (ToolUseBlock("c", "f"), []),
        (ThinkingBlock("a"), []),
        (RedactedThinkingBlock("a"), []),
    ],
)
def test_parts(block: Block, expected: list[dict[str, Any]]) -> None:
    assert parts_of(block, "messages.0.content.0", PLAIN) == expected


@pytest.mark.parametrize(
    ("block", "place"),
    [
        (ImageBlock(file_id="file_1"), "messages.0.content.0.source: "),
        (DocumentBlock("application/pdf", data="AAAA"), "messages.0.content.0.source: this model takes no"),
        (DocumentBlock(url="https://host/a.pdf"), "messages.0.content.0.source: "),
        (DocumentBlock(file_id="file_1"), "messages.0.content.0.source: "),
        (DocumentBlock(content=(ImageBlock(file_id="f"),)), "messages.0.content.0.source.content.0.source: "),
        (OtherBlock("new", {"a": DEEP}), "messages.0.content.0: "),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(block: Block, place: str) -> None:
    with pytest.raises(RequestError) as caught:
        parts_of(block, "messages.0.content.0", PLAIN)
    assert caught.value.message.startswith(place)
    assert caught.value.status == 400


def test_a_note_stands_for_what_cannot_be_shown() -> None:
    document = DocumentBlock(content=(ImageBlock(url="u:"), TextBlock("a")))
    (note, rest) = parts_of(document, "p", Dialect(images="none"), noted=True)
    assert note["text"].startswith("[An image was here")
    assert rest["text"] == "a"
    with pytest.raises(RequestError, match=r"^p\.source\.content\.0\.source: this model takes no images"):
        parts_of(document, "p", Dialect(images="none"))


def test_a_pdf_where_files_are_taken() -> None:
    parts = parts_of(DocumentBlock("application/pdf", data="AAAA", context="C"), "p", Dialect(files=True))
    assert [part["type"] for part in parts] == ["text", "file"]
    assert joined(parts, "-") == "C"
    assert not all_text(parts)


def test_parts_of_texts() -> None:
    assert text_parts("a", "", "b") == text("a", "b")
    assert joined(text("a", "b"), "\n") == "a\nb"
    assert all_text(text("a", "b"))
    assert all_text([])


def test_json_text() -> None:
    assert json_text({"b": "é", "a": [1]}, "x") == '{"b":"é","a":[1]}'
    assert json_text({"n": 2**70, "a": nested(300)}, "x").startswith('{"n":1180591620717411303424,"a":[[[')
    with pytest.raises(RequestError, match=r"^x\.input: "):
        json_text(DEEP, "x.input")


def test_a_note_stands_for_a_document_that_cannot_be_read() -> None:
    for document in (DocumentBlock(url="https://x/a.pdf"), DocumentBlock(media_type="application/pdf", data="AAAA")):
        (note,) = parts_of(document, "messages.2.content.0", PLAIN, noted=True)
        assert note["text"].startswith("[A document was here that cannot be read: ")
        assert "messages" not in note["text"]
