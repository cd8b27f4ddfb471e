from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.images import image_part
from core.errors import RequestError
from core.request import ImageBlock

PNG = ImageBlock("image/png", data="AAAA")
GIF = ImageBlock("image/gif", data="AAAA")
LINK = ImageBlock(url="https://host/a.png?x=1&y")
INLINE_LINK = ImageBlock(url="data:image/png;base64,AAAA")
JPEG_ONLY = Dialect(images="data", image_types=("image/png", "image/jpeg"))


@pytest.mark.parametrize(
    ("block", "dialect", "url"),
    [
        (PNG, Dialect(), "data:image/png;base64,AAAA"),
        (GIF, Dialect(images="data"), "data:image/gif;base64,AAAA"),
        (PNG, JPEG_ONLY, "data:image/png;base64,AAAA"),
        (LINK, Dialect(), "https://host/a.png?x=1&y"),
        (LINK, Dialect(image_types=("image/png",)), "https://host/a.png?x=1&y"),
        (INLINE_LINK, JPEG_ONLY, "data:image/png;base64,AAAA"),
    ],
)
def test_an_image(block: ImageBlock, dialect: Dialect, url: str) -> None:
    assert image_part(block, "p", dialect) == {"type": "image_url", "image_url": {"url": url}}


REFUSED: list[tuple[ImageBlock, Dialect, str]] = [
    (PNG, Dialect(images="none"), "this model takes no images"),
    (LINK, Dialect(images="none"), "this model takes no images"),
    (LINK, Dialect(images="data"), "this model takes no images by URL, only as base64"),
    (GIF, JPEG_ONLY, "this model takes no image/gif, only image/png, image/jpeg"),
    (ImageBlock(url="data:,x"), JPEG_ONLY, "this model takes no image of unknown type, only image/png, image/jpeg"),
]


@pytest.mark.parametrize(("block", "dialect", "fault"), REFUSED)
def test_an_image_that_is_not_taken(block: ImageBlock, dialect: Dialect, fault: str) -> None:
    with pytest.raises(RequestError) as caught:
        image_part(block, "messages.0.content.1", dialect)
    remedy = "; where the gateway's operator lists the plugin fetch_urls for it, they are fetched"
    assert caught.value.message == f"messages.0.content.1.source: {fault}{remedy * ('by URL' in fault)}"
    noted: dict[str, Any] = image_part(block, "messages.0.content.1", dialect, noted=True)
    assert noted == {"type": "text", "text": f"[An image was here that cannot be shown: {fault}]"}


@pytest.mark.parametrize("noted", [True, False])
def test_a_file_s_id_is_refused(noted: bool) -> None:
    with pytest.raises(RequestError, match=r"^p\.source: files by id are not kept here; send the image as base64$"):
        image_part(ImageBlock(file_id="file_1"), "p", Dialect(), noted=noted)
