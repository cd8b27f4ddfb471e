from __future__ import annotations

import pytest

from plugins.fetch_urls.errors import FetchError
from plugins.fetch_urls.kinds import Fetched, Kind, accepted, check_type, type_of
from tests.plugins.fetch_urls.place import GIF, JPEG, PDF, PNG, WEBP


@pytest.mark.parametrize(
    ("kind", "data", "media_type"),
    [
        ("image", PNG, "image/png"),
        ("image", JPEG, "image/jpeg"),
        ("image", GIF, "image/gif"),
        ("image", GIF.replace(b"9", b"7"), "image/gif"),
        ("image", WEBP, "image/webp"),
        ("image", WEBP.replace(b"\x08", b"\n"), "image/webp"),
        ("document", PDF, "application/pdf"),
        ("document", b"\xef\xbb\xbf\n" + PDF, "application/pdf"),
        ("document", b"x" * 1019 + PDF, "application/pdf"),
    ],
)
def test_the_first_bytes_say_the_type(kind: Kind, data: bytes, media_type: str) -> None:
    assert type_of(kind, bytearray(data)) == media_type


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("image", b""),
        ("image", b"root:x:0:0"),
        ("image", b"<svg/>"),
        ("image", b"<html>"),
        ("image", b" " + PNG),
        ("image", PNG[:7]),
        ("image", b"GIF88a"),
        ("image", b"RIFF\x08\x00\x00\x00WAVEfmt "),
        ("image", b"BM6\x00"),
        ("image", PDF),
        ("document", PNG),
        ("document", b"x" * 1020 + PDF),
        ("document", b"%!PS"),
    ],
)
def test_other_bytes(kind: Kind, data: bytes) -> None:
    with pytest.raises(FetchError, match=r"^it is no P"):
        type_of(kind, data)


@pytest.mark.parametrize(
    "header", ["image/png", "IMAGE/JPEG; q=1", "image/jpg", "", "application/octet-stream", "image/webp"]
)
def test_headers_that_an_image_may_have(header: str) -> None:
    check_type("image", header)


@pytest.mark.parametrize(
    "header", ["text/html", "image/svg+xml", "application/json", "application/pdf", "image/*", "x"]
)
def test_headers_that_no_image_has(header: str) -> None:
    with pytest.raises(FetchError, match="it is no PNG, JPEG, GIF or WebP image"):
        check_type("image", header)


def test_headers_of_documents() -> None:
    check_type("document", "application/pdf; charset=binary")
    with pytest.raises(FetchError, match="it is no PDF"):
        check_type("document", "text/html")


def test_what_is_asked_for() -> None:
    assert accepted("image") == "image/png, image/jpeg, image/gif, image/webp"
    assert accepted("document") == "application/pdf"


def test_the_size_of_a_file_and_its_repr() -> None:
    file = Fetched("image/png", "QUJD" * 100)
    assert file.size == 300
    assert "QUJD" not in repr(file)
