from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress

import pypdf
import pytest
from pypdf.errors import LimitReachedError

from core.chat import pdf
from core.chat.pdf import FAULT, TEXT, PDFError, text_of
from tests.core.chat.pdfs import bomb, locked, pdf_of


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


@pytest.mark.parametrize("error", [MemoryError(), LimitReachedError("the library's own limits")])
def test_what_takes_too_much(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def reader(_: object) -> None:
        raise error

    monkeypatch.setattr(pypdf, "PdfReader", reader)
    with pytest.raises(PDFError, match=r"^takes too much work or memory to be read$"):
        text_of(b"")


def test_limits() -> None:
    data = pdf_of("one", "two", "three")
    assert text_of(data, pages=3, characters=11) == "one\n\ntwo\n\nthree"
    with pytest.raises(PDFError, match=r"^has more than 2 pages$"):
        text_of(data, pages=2)
    with pytest.raises(PDFError, match=r"^holds more than 10 characters$"):
        text_of(data, characters=10)


def script(data: bytes, seconds: int = 20) -> tuple[int, bytes]:
    """The status of the process, and its answer."""
    sent = len(data).to_bytes(8, "big") + data
    with subprocess.Popen(
        [sys.executable, "-P", pdf.__file__, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        answer = process.stdout.read()
        return process.wait(), answer


@pytest.mark.parametrize(
    ("data", "answer"),
    [(pdf_of("caf\xe9"), TEXT + "caf\xe9".encode()), (b"no", FAULT + b"cannot be read as a PDF")],
)
def test_the_process_answers(data: bytes, answer: bytes) -> None:
    assert script(data) == (0, answer)


def test_the_process_ends_when_its_time_is_over() -> None:
    assert script(bomb(400_000, 8), 1) == (-signal.SIGXCPU, b"")


def test_the_process_ends_with_its_master() -> None:
    data = bomb(400_000, 8)
    done = subprocess.run(
        [sys.executable, "-P", pdf.__file__, "60"], input=len(data).to_bytes(8, "big") + data, check=False, timeout=30
    )
    assert done.returncode == 1


def test_the_library_is_not_loaded_before_the_first_pdf() -> None:
    code = "import sys, core.chat; sys.exit('pypdf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
