from __future__ import annotations

from typing import Any

import pytest
from cattrs.errors import BaseValidationError

from core import DocumentBlock, ImageBlock, TextBlock
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.sources import document_hook, image_hook
from plugins.anthropic.structure import new_converter


def image(source: Any) -> Any:
    return image_hook(new_converter())({"type": "image", "source": source}, None)


def document(source: Any, **beside: Any) -> Any:
    def content(value: Any, _: Any) -> tuple[TextBlock, ...]:
        return (TextBlock(value),)

    return document_hook(new_converter(), content)({"type": "document", "source": source, **beside}, None)


@pytest.mark.parametrize(
    ("source", "block"),
    [
        ({"type": "base64", "media_type": "image/png", "data": "AAAA"}, ImageBlock("image/png", "AAAA")),
        ({"type": "url", "url": "https://x/y.png"}, ImageBlock(url="https://x/y.png")),
        ({"type": "file", "file_id": "file_1"}, ImageBlock(file_id="file_1")),
        ({"type": "base64", "media_type": "image/jpg", "data": "AAAA"}, ImageBlock("image/jpeg", "AAAA")),
        ({"type": "base64", "media_type": "image/future", "data": "AAAA"}, ImageBlock("image/future", "AAAA")),
        ({"type": "base64", "data": "data:image/png;base64,AAAA"}, ImageBlock("image/png", "AAAA")),
        (
            {"type": "base64", "media_type": "image/gif", "data": "data:image/png;base64,AAAA"},
            ImageBlock("image/gif", "AAAA"),
        ),
    ],
)
def test_images(source: Any, block: ImageBlock) -> None:
    assert image(source) == block


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (None, "source: Input should be an object"),
        ({"type": "base64", "data": "AAAA"}, "source.base64.media_type: Field required"),
        ({"type": "base64", "media_type": "image/png"}, "source.base64.data: Field required"),
        ({"type": "url"}, "source.url.url: Field required"),
        ({"type": "x"}, "source: Input tag 'x' found"),
    ],
)
def test_images_without_an_image(source: Any, fault: str) -> None:
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        image(source)
    assert explain(caught.value).startswith(fault)


def test_an_image_block_without_source() -> None:
    with pytest.raises(BaseValidationError) as caught:
        image_hook(new_converter())({"type": "image"}, None)
    assert explain(caught.value) == "source: Field required"


@pytest.mark.parametrize(
    ("source", "block"),
    [
        (
            {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
            DocumentBlock(media_type="application/pdf", data="JVBE"),
        ),
        ({"type": "base64", "data": "JVBE"}, DocumentBlock(media_type="application/pdf", data="JVBE")),
        ({"type": "text", "media_type": "text/plain", "data": "words"}, DocumentBlock(text="words")),
        ({"type": "content", "content": "words"}, DocumentBlock(content=(TextBlock("words"),))),
        ({"type": "url", "url": "https://x/y.pdf"}, DocumentBlock(url="https://x/y.pdf")),
        ({"type": "file", "file_id": "file_1"}, DocumentBlock(file_id="file_1")),
    ],
)
def test_documents(source: Any, block: DocumentBlock) -> None:
    assert document(source) == block


def test_a_documents_title_and_context() -> None:
    block = document({"type": "text", "data": "words"}, title="T", context=None, citations={"enabled": True})
    assert block == DocumentBlock(text="words", title="T")
