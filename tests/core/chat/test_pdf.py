from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import pytest

from core.chat.pdf import PDFError, text_of
from tests.core.chat.pdfs import locked, pdf_of


def test_the_text_of_all_pages() -> None:
    assert text_of(pdf_of("Hello, page one", "", "caf\xe9")) == "Hello, page one\n\ncaf\xe9"


def test_a_pdf_that_every_reader_opens() -> None:
    assert text_of(locked(pdf_of("open to all"), "")) == "open to all"


WHOLE = pdf_of("Hello")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "cannot be read as a PDF"),
        (b"\x00\x01 no PDF at all", "cannot be read as a PDF"),
        (b"%PDF-1.4\n%%EOF", "cannot be read as a PDF"),
        (WHOLE.replace(b"/Kids", b"/Cats"), "holds no text, only pictures of it perhaps"),
        (pdf_of(""), "holds no text, only pictures of it perhaps"),
        (locked(WHOLE, "secret"), "is encrypted"),
    ],
)
def test_no_text(data: bytes, fault: str) -> None:
    with pytest.raises(PDFError) as caught:
        text_of(data)
    assert str(caught.value) == fault


@pytest.mark.parametrize("cut", range(0, len(WHOLE), 97))
def test_a_pdf_that_was_cut_gives_its_text_or_a_fault(cut: int) -> None:
    with suppress(PDFError):
        assert text_of(WHOLE[:cut]) == "Hello"


def test_the_library_is_not_loaded_before_the_first_pdf() -> None:
    code = "import sys, core.chat; sys.exit('pypdf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
