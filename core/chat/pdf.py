"""The text of a PDF. The one place that knows the library for it, which is loaded when the first PDF comes."""

from __future__ import annotations

import io


class PDFError(Exception):
    """No text can be got from the file; the text of this error is a clause that says why."""


def text_of(data: bytes) -> str:
    """The text of all pages, a blank line between them. Raises PDFError; slow, some ms a page."""
    import pypdf  # noqa: PLC0415  0.1 s that most processes never need
    from pypdf.errors import DependencyError, FileNotDecryptedError  # noqa: PLC0415

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        pages = [page.extract_text().strip() for page in reader.pages]
    except (FileNotDecryptedError, DependencyError) as error:
        raise PDFError("is encrypted") from error
    except Exception as error:  # a broken file makes the library fail in every way there is
        raise PDFError("cannot be read as a PDF") from error
    text = "\n\n".join(filter(None, pages))
    if not text:
        raise PDFError("holds no text, only pictures of it perhaps")
    # Fonts without a proper table give halves of characters, which JSON cannot say.
    return text.encode("utf-8", "replace").decode()
