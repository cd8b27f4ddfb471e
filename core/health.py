"""`GET /healthz` and `GET /readyz`: is the process alive, and should it get new requests?"""

from __future__ import annotations

from core.page import Page

HEALTH = "/healthz"
READY = "/readyz"
METHODS = ("GET", "HEAD")
"""How they may be asked; any other way is a 405."""


def health_page(method: str, path: str, *, ready: bool) -> Page | None:
    """The page of a path, or None. `/healthz` is always well: a process that is not does not answer."""
    if path in {HEALTH, READY} and method not in METHODS:
        return Page(b"method not allowed\n", status=405)
    if path == HEALTH or (path == READY and ready):
        return Page(b"ok\n")
    return Page(b"draining\n", status=503) if path == READY else None
