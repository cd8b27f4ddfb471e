"""What is wrong with a URL, by its parts. The URL itself is never shown: it may hold a password."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import httpx

from core.config.faults import TableError

_FORM: Final = "write it as http://HOST[:PORT][/PATH]"
_OTHER_ENDPOINTS: Final = frozenset({"completions", "responses", "embeddings", "messages", "models"})


def check_url(url: str, key: str) -> None:
    """Raise TableError for what is no address of an HTTP server; it says which part is wrong."""
    if fault := _fault(url):
        raise TableError(fault, key=key, hint=_FORM)


def check_api_url(url: str) -> None:
    """Raise TableError for what cannot be the `url` of a backend."""
    check_url(url, "url")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise TableError("holds a user name, which logs would show", key="url", hint="use 'key' or 'headers'")
    before, _, last = parts.path.rstrip("/").rpartition("/")
    if last in _OTHER_ENDPOINTS and not before.endswith("/chat"):
        raise TableError(
            f"ends in /{last}, which is another endpoint than /chat/completions",
            key="url",
            hint=f"leave /{last} away",
        )


def _fault(url: str) -> str:
    """What is wrong, in words; "" for nothing."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return "holds white space"
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return "its host is no name and no address"
    if parts.scheme not in {"http", "https"}:
        return "does not begin with http:// or https://"
    if not host:
        return "names no host"
    try:
        sound = parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        return "its port is not a number from 1 to 65535"
    try:
        httpx.URL(url)
    except httpx.InvalidURL:
        return "its host is no name and no address"
    return ""
