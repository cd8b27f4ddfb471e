"""Secrets out of what is written: by the names of headers and parameters, and wherever one that is known stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

MASK: Final = "***"

_TELLING: Final = re.compile(r"auth|key|token|secret|cookie|passw|credential|session|signature|^sig$", re.IGNORECASE)
_OURS: Final = re.compile(rb"hl-[0-9a-z]{4,32}-[\w-]{12,}")
"""What the plugin `keys` gives to clients."""
_SHORTEST: Final = 8
"""Characters that make a word a secret in a body; a shorter one may be any word of the text."""
_BEGINNING: Final = 4
"""Bytes at a cut that are taken for the beginning of a secret."""


def masked_headers(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers, without the values of those whose name speaks of a secret."""
    return [(name, MASK if _TELLING.search(name) else value) for name, value in pairs]


def masked_query(query: bytes) -> str:
    """The query, without the values of those parameters whose name speaks of a secret."""
    text = query.decode("latin-1")
    pairs = parse_qsl(text, keep_blank_values=True)
    if not any(_TELLING.search(name) for name, _ in pairs):
        return text
    return urlencode(masked_headers(pairs), safe="*")


def masked_path(path: str) -> str:
    """The path as it came, unless a key of ours stands in it, also behind escapes."""
    plain = unquote_to_bytes(path)
    return path if not _OURS.search(plain) else _OURS.sub(MASK.encode(), plain).decode("latin-1")


def secrets_in(headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> list[str]:
    """The words of the secret headers and parameters: a client's key must not be in what others repeat, either."""
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    pairs += parse_qsl(query.decode("latin-1"))
    values = [value for name, value in pairs if _TELLING.search(name)]
    return [word for value in values for word in (value, *value.split())]


def keys_in(*texts: bytes) -> list[str]:
    """Keys of ours that stand in a path or a body: a client may put its key anywhere."""
    return [found.decode() for text in texts if b"hl-" in text for found in _OURS.findall(text)]


class Masks:
    """Asterisks for known secrets: as they are, as JSON has them, as a URL has them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        self._words = sorted(forms, key=len, reverse=True)

    def pieces(self, pieces: Sequence[bytes], *, before: bytes = b"", cut: bool = False) -> list[bytes]:
        """The pieces, cut where they were, also without a secret that is cut in two; `before` is what came before them.

        `cut`: more may follow that is not here, so that the beginning of a secret at the end counts as one.
        """
        data = self._masked(before + b"".join(pieces), cut=cut)[len(before) :]
        out = []
        for piece in pieces:
            out.append(data[: len(piece)])
            data = data[len(piece) :]
        return out

    def value(self, value: Any) -> Any:
        """Strings, also in lists and dicts."""
        if isinstance(value, str):
            return self._masked(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        if isinstance(value, dict):
            return {key: self.value(each) for key, each in value.items()}
        return [self.value(each) for each in value] if isinstance(value, list | tuple) else value

    @property
    def longest(self) -> int:
        """Bytes of the longest secret."""
        return len(self._words[0]) if self._words else 0

    def _masked(self, data: bytes, *, cut: bool = False) -> bytes:
        for word in self._words:
            data = data.replace(word, b"*" * len(word))
        return self._without_beginning(data) if cut else data

    def _without_beginning(self, data: bytes) -> bytes:
        for size in range(min(self.longest, len(data)), _BEGINNING - 1, -1):
            end = data[-size:]
            if any(word.startswith(end) for word in self._words):
                return data[:-size] + b"*" * size
        return data


def _forms(secret: str) -> list[bytes]:
    texts = (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    in_url = quote(secret, safe="", errors="replace")
    return [text.encode("utf-8", "surrogatepass") for text in (*texts, in_url)]
