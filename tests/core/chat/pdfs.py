"""PDFs for tests, written by hand."""

from __future__ import annotations

import io
import zlib

import pypdf


def pdf_of(*pages: str) -> bytes:
    """A PDF with a line of Latin text on each page; a page of "" is blank."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for at, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
        objects += [page + f"/Contents {5 + 2 * at} 0 R >>", f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"]
    return _file([text.encode("latin-1") for text in objects])


def bomb(operators: int, pages: int = 1) -> bytes:
    """A small PDF that is slow to read: its pages share one packed stream of that many drawing operators."""
    drawn = zlib.compress(b"BT /F1 12 Tf 50 700 Td\n" + b"(a) Tj 0 -1 Td\n" * (operators // 2) + b"ET", 9)
    kids = b"4 0 R " * pages
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, pages),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(drawn), drawn),
    ]
    return _file(objects)


def locked(data: bytes, password: str) -> bytes:
    """The PDF, encrypted; with the password "" every reader opens it."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _file(objects: list[bytes]) -> bytes:
    out, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, text)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + (head + trailer).encode()
