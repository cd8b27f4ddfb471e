from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.names import alias
from core.chat.parts import Part
from core.chat.results import tool_messages
from core.chat.tool_ids import ToolIds
from core.errors import RequestError
from core.request import (
    DocumentBlock,
    ImageBlock,
    OtherBlock,
    SearchResultBlock,
    TextBlock,
    ToolReferenceBlock,
    ToolResultBlock,
)

IMAGE = ImageBlock("image/png", data="AAAA")
IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
PARTS = Dialect(tool_content="parts")


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def sent(*blocks: ToolResultBlock, dialect: Dialect | None = None) -> tuple[list[dict[str, Any]], list[Part]]:
    dialect = dialect or Dialect()
    placed = [(block, (0, at)) for at, block in enumerate(blocks)]
    return tool_messages(placed, dialect, ToolIds(dialect.tool_id_pattern))


@pytest.mark.parametrize("dialect", [Dialect(), PARTS])
@pytest.mark.parametrize(
    ("block", "content"),
    [
        (ToolResultBlock("c0"), ""),
        (ToolResultBlock("c0", (TextBlock(""),)), ""),
        (ToolResultBlock("c0", (TextBlock("a"), TextBlock("b"))), "a\nb"),
        (ToolResultBlock("c0", (TextBlock("a"),), is_error=True), "Error: a"),
        (ToolResultBlock("c0", (TextBlock("error: a"),), is_error=True), "error: a"),
        (ToolResultBlock("c0", (TextBlock(" Error"),), is_error=True), " Error"),
        (ToolResultBlock("c0", (TextBlock("Errors: 3"), TextBlock("b")), is_error=True), "Error: Errors: 3\nb"),
        (ToolResultBlock("c0", (), is_error=True), "Error"),
        (
            ToolResultBlock("c0", (ToolReferenceBlock("f"), ToolReferenceBlock("g"))),
            "Tool f is now available.\nTool g is now available.",
        ),
        (ToolResultBlock("c0", (ToolReferenceBlock("a.f"),)), f"Tool {alias('a.f', 64)} is now available."),
        (ToolResultBlock("c0", (OtherBlock("new", {"type": "new"}),)), '{"type":"new"}'),
        (ToolResultBlock("c0", (DocumentBlock(text="d", title="T"),)), "T\nd"),
        (ToolResultBlock("c0", (SearchResultBlock("s", "T", (TextBlock("a"),)),)), "[T] (s)\na"),
    ],
)
def test_text_alone_is_a_string(block: ToolResultBlock, content: str, dialect: Dialect) -> None:
    assert sent(block, dialect=dialect) == ([{"role": "tool", "tool_call_id": "c0", "content": content}], [])


def test_images_follow_with_their_call_s_id_where_only_text_is_taken() -> None:
    messages, following = sent(
        ToolResultBlock("c0", (TextBlock("r"), IMAGE)), ToolResultBlock("c1", (IMAGE,)), ToolResultBlock("c2")
    )
    assert [message["content"] for message in messages] == ["r", "", ""]
    assert following == [
        text("Shown by the result of tool call c0:"),
        IMAGE_PART,
        text("Shown by the result of tool call c1:"),
        IMAGE_PART,
    ]


def test_images_stay_in_the_result_where_parts_are_taken() -> None:
    messages, following = sent(ToolResultBlock("c0", (TextBlock("r"), IMAGE), is_error=True), dialect=PARTS)
    assert messages[0]["content"] == [text("Error: r"), IMAGE_PART]
    assert following == []
    messages, _ = sent(ToolResultBlock("c0", (IMAGE,), is_error=True), dialect=PARTS)
    assert messages[0]["content"] == [text("Error"), IMAGE_PART]


def test_a_pdf_follows_as_a_file_where_files_are_taken() -> None:
    pdf = DocumentBlock("application/pdf", data="AAAA", title="T")
    messages, following = sent(ToolResultBlock("c0", (pdf,)), dialect=Dialect(files=True))
    assert messages[0]["content"] == "T"
    assert [part["type"] for part in following] == ["text", "file"]


@pytest.mark.parametrize("dialect", [Dialect(images="none"), Dialect(images="none", tool_content="parts")])
def test_an_image_that_cannot_be_shown_leaves_a_note(dialect: Dialect) -> None:
    messages, following = sent(ToolResultBlock("c0", (TextBlock("r"), IMAGE)), dialect=dialect)
    assert messages[0]["content"] == "r\n[An image was here that cannot be shown: this model takes no images]"
    assert following == []


def test_ids_are_the_conversation_s() -> None:
    messages, following = sent(ToolResultBlock("c0", (IMAGE,)), dialect=Dialect(tool_id_pattern="[0-9]{9}"))
    identity = messages[0]["tool_call_id"]
    assert identity == ToolIds("[0-9]{9}").sent("c0")
    assert identity in following[0]["text"]


def test_a_fault_has_its_place() -> None:
    with pytest.raises(RequestError, match=r"^messages\.0\.content\.1\.content\.1\.source: files by id"):
        sent(ToolResultBlock("c0"), ToolResultBlock("c1", (TextBlock("a"), ImageBlock(file_id="f"))))
