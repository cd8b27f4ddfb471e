"""What of a backend's table must be in no error and no log, in every form in which an upstream may repeat it."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

import httpx

from core.config import BackendConfig

_WORD: Final = 8
"""Characters that make a word of a configured value a secret by itself."""
_WITHIN: Final = 8
"""Bytes of a secret that is looked for in the middle of other base64, where a shorter one may stand by chance."""
_WHOLE: Final = 4
"""Bytes of one that is looked for in base64 of its own."""
_ESCAPE: Final = re.compile("%[0-9A-F]{2}")
_CUT: Final = (0, 2, 3)
"""Characters that share bits with what is in front, by the number of bytes there modulo three."""


def secrets_of(backend: BackendConfig) -> list[str]:
    """Every configured secret, whole and word by word, as it is and encoded; the longest first."""
    values = [secret.reveal() for secret in (*backend.headers.values(), *filter(None, (backend.key, backend.proxy)))]
    values += backend.query.values()
    # An upstream repeats the abc of "Token abc" alone.
    words = [word for value in values for word in value.split() if len(word) >= _WORD]
    credentials = [text for value in values for text in _basic(value)]
    if backend.proxy is not None:
        credentials += credentials_of(httpx.URL(backend.proxy.reveal()))
    if backend.url:
        credentials += credentials_of(httpx.URL(backend.url))
    return forms_of([*values, *words, *credentials])


def credentials_of(url: httpx.URL) -> list[str]:
    """User and password of a URL, as they are sent, and the password alone; a user without one may be a token."""
    if url.password:
        return [f"{url.username}:{url.password}", url.password]
    return [f"{url.username}:", url.username] if len(url.username) >= _WORD else []


def forms_of(secrets: Iterable[str]) -> list[str]:
    """The secrets as they are, percent-encoded and in base64, alone or within other text; the longest first."""
    found = {form for secret in secrets for form in (secret, *_in_url(secret), *_in_base64(secret))}
    return sorted(filter(None, found), key=_order)


def _order(form: str) -> tuple[int, str]:
    # What is contained in another one would leave the rest of it.
    return -len(form), form


def _basic(value: str) -> list[str]:
    """User and password of a header's value, and the password alone."""
    scheme, _, encoded = value.strip().partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    return [pair, pair.partition(":")[2]]


def _in_url(secret: str) -> Iterator[str]:
    for text in (
        quote(secret, safe="", errors="replace"),
        quote(secret, errors="replace"),
        quote_plus(secret, errors="replace"),
    ):
        yield text
        yield _ESCAPE.sub(lambda found: found[0].lower(), text)


def _in_base64(secret: str) -> Iterator[str]:
    """Of the three ways in which bytes may lie in base64 what depends on the secret alone, and the whole of its own."""
    data = secret.encode("utf-8", "replace")
    if len(data) < _WHOLE:
        return
    whole = b64encode(data).decode()
    found = [whole, whole.rstrip("=")]
    if len(data) >= _WITHIN:
        for before, cut in enumerate(_CUT):
            text = b64encode(bytes(before) + data).decode()
            found.append(text[cut : (before + len(data)) * 8 // 6])
    for text in found:
        yield text
        yield text.translate(str.maketrans("+/", "-_"))
