"""Secrets out of what is written: headers by their names, bytes by the secrets that are known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlencode

MASK: Final = "***"

_TELLING: Final = re.compile(r"auth|key|token|secret|cookie|passw|credential|session", re.IGNORECASE)
_SHORTEST: Final = 8
"""Characters that make a word a secret in a body; a shorter one may be any word of the text."""


def masked_headers(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers, without the values of those whose name speaks of a secret."""
    return [(name, MASK if _TELLING.search(name) else value) for name, value in pairs]


def masked_query(query: bytes) -> str:
    """The query, without the values of those parameters whose name speaks of a secret."""
    text = query.decode("latin-1")
    if not _TELLING.search(text):
        return text
    return urlencode(masked_headers(parse_qsl(text, keep_blank_values=True)), safe="*")


def secrets_in(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """The words of the secret headers: a client's key must not be in what the upstream repeats, either."""
    values = [value.decode("latin-1") for name, value in headers if _TELLING.search(name.decode("latin-1"))]
    return [word for value in values for word in (value, *value.split())]


def masked_pieces(pieces: Sequence[bytes], secrets: Iterable[str]) -> list[bytes]:
    """The pieces, cut where they were, with asterisks in the place of each secret, also of one that is cut in two."""
    data = b"".join(pieces)
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            word = secret.encode("utf-8", "surrogatepass")
            data = data.replace(word, b"*" * len(word))
    out = []
    for piece in pieces:
        out.append(data[: len(piece)])
        data = data[len(piece) :]
    return out
