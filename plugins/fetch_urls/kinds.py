"""The files that are fetched: how a request asks for one, and what shows that a file is what it is said to be."""

from __future__ import annotations

import re
from typing import Final, Literal

import attrs

from plugins.fetch_urls.errors import FetchError

Kind = Literal["image", "document"]

_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TYPES: Final[dict[Kind, tuple[str, ...]]] = {
    "image": (*_IMAGES, "image/jpg"),
    "document": ("application/pdf", "application/x-pdf"),
}
_UNKNOWN: Final = ("", "application/octet-stream", "binary/octet-stream")
"""Types that stores of files give to what they do not know."""

_MARKS: Final[dict[Kind, tuple[tuple[re.Pattern[bytes], str], ...]]] = {
    "image": (
        (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
        (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
        (re.compile(rb"GIF8[79]a"), "image/gif"),
        (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    ),
    # Readers let up to a kilobyte of something else stand in front.
    "document": ((re.compile(rb".{0,1019}%PDF-", re.DOTALL), "application/pdf"),),
}
_WRONG: Final[dict[Kind, str]] = {"image": "it is no PNG, JPEG, GIF or WebP image", "document": "it is no PDF"}


@attrs.frozen
class Wanted:
    """A file that a request names."""

    kind: Kind
    url: str


@attrs.frozen
class Fetched:
    """A file, as base64."""

    media_type: str
    data: str = attrs.field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of the file, within two."""
        return len(self.data) // 4 * 3


def accepted(kind: Kind) -> str:
    """The header `accept`."""
    return ", ".join(_IMAGES if kind == "image" else ("application/pdf",))


def check_type(kind: Kind, header: str) -> None:
    """Raises FetchError when the header `content-type` names something else."""
    named = header.partition(";")[0].strip().lower()
    if named not in _UNKNOWN and named not in _TYPES[kind]:
        raise FetchError(_WRONG[kind])


def type_of(kind: Kind, data: bytes | bytearray) -> str:
    """The media type, by the first bytes. Raises FetchError when they are those of something else."""
    for mark, media_type in _MARKS[kind]:
        if mark.match(data):
            return media_type
    raise FetchError(_WRONG[kind])
