from __future__ import annotations

from typing import Any

import pytest

from core.chat.parts import json_text, parts_of
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

DEEP: list[Any] = []
for _ in range(300):
    DEEP = [DEEP]


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
        (OtherBlock("new", {"type": "new", "a": 1}), text('{"type":"new","a":1}')),
        (ToolUseBlock("c", "f"), []),
        (ThinkingBlock("a"), []),
        (RedactedThinkingBlock("a"), []),
    ],
)
def test_parts(block: Block, expected: list[dict[str, Any]]) -> None:
    assert parts_of(block, "messages.0.content.0") == expected


@pytest.mark.parametrize(
    ("block", "place"),
    [
        (ImageBlock(file_id="file_1"), "messages.0.content.0.source: "),
        (DocumentBlock("application/pdf", data="AAAA"), "messages.0.content.0.source: application/pdf"),
        (DocumentBlock(url="https://host/a.pdf"), "messages.0.content.0.source: "),
        (DocumentBlock(file_id="file_1"), "messages.0.content.0.source: "),
        (DocumentBlock(content=(ImageBlock(file_id="f"),)), "messages.0.content.0.source.content.0.source: "),
        (OtherBlock("new", {"a": DEEP}), "messages.0.content.0: "),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(block: Block, place: str) -> None:
    with pytest.raises(RequestError) as caught:
        parts_of(block, "messages.0.content.0")
    assert caught.value.message.startswith(place)
    assert caught.value.status == 400


def test_json_text() -> None:
    assert json_text({"b": "é", "a": [1]}, "x") == '{"b":"é","a":[1]}'
    with pytest.raises(RequestError, match=r"^x\.input: "):
        json_text(DEEP, "x.input")
