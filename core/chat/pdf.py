"""The text of a PDF. The one place that knows the library for it.

Run as a script it is a process that reads one PDF, so that a file made to be slow or large harms nobody else:
`pdf.py SECONDS` takes 8 bytes of length (big-endian) and the file from standard input, and writes TEXT or FAULT and the
text or the clause, in UTF-8. It has SECONDS of processor time, and ends when its input is closed: its master is gone.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGES: Final = 1000
"""Pages of a document that is read."""
CHARACTERS: Final = 2_000_000
"""Characters of its text: more than fits into most models' windows."""
MEMORY: Final = 1 << 30
"""Bytes that the process may have."""
TEXT: Final = b"T"
FAULT: Final = b"F"


class PDFError(Exception):
    """No text can be got from the file; the text of this error is a clause that says why."""


def text_of(data: bytes, *, pages: int = PAGES, characters: int = CHARACTERS) -> str:
    """The text of all pages, a blank line between them. Raises PDFError; takes some ms a page, and minutes at worst."""
    import pypdf  # noqa: PLC0415  0.1 s that no other process needs
    from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError  # noqa: PLC0415

    try:
        found = _pages(pypdf.PdfReader(io.BytesIO(data)), pages, characters)
    except PDFError:
        raise
    except (FileNotDecryptedError, DependencyError) as error:
        raise PDFError("is encrypted") from error
    except (LimitReachedError, MemoryError) as error:
        raise PDFError("takes too much work or memory to be read") from error
    except Exception as error:  # a broken file makes the library fail in every way there is
        raise PDFError("cannot be read as a PDF") from error
    text = "\n\n".join(filter(None, found))
    if not text:
        raise PDFError("holds no text, only pictures of it perhaps")
    # Fonts without a proper table give halves of characters, which JSON cannot say.
    return text.encode("utf-8", "replace").decode()


def main(seconds: int) -> None:
    """The process: one PDF, from standard input to standard output."""
    _limit(seconds)
    source = sys.stdin.buffer
    data = source.read(int.from_bytes(source.read(8), "big"))
    threading.Thread(target=_end_with_master, daemon=True).start()
    try:
        answer = TEXT + text_of(data).encode()
    except PDFError as error:
        answer = FAULT + str(error).encode()
    sys.stdout.buffer.write(answer)


def _pages(reader: PdfReader, most: int, most_text: int) -> list[str]:
    found: list[str] = []
    size = 0
    if len(reader.pages) > most:
        raise PDFError(f"has more than {most} pages")
    for page in reader.pages:
        found.append(page.extract_text().strip())
        size += len(found[-1])
        if size > most_text:
            raise PDFError(f"holds more than {most_text} characters")
    return found


def _limit(seconds: int) -> None:
    """Be bounded, and last in line for the processor, where the system can do that."""
    with suppress(AttributeError, OSError):
        os.nice(5)
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return
    limits = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CORE: 0}
    for kind, value in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def _end_with_master() -> None:
    os.read(0, 1)  # not sys.stdin, whose lock a thread that waits would keep from the interpreter's end
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
