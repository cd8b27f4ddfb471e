"""`GET /healthz` and `GET /readyz`: is the process alive, and should it get new requests?"""

from __future__ import annotations

from core.page import Page

HEALTH = "/healthz"
READY = "/readyz"


def health_page(path: str, *, ready: bool) -> Page | None:
    """The page of a path, or None. `/healthz` is always well: a process that is not does not answer."""
    if path == HEALTH or (path == READY and ready):
        return Page(b"ok\n")
    return Page(b"draining\n", status=503) if path == READY else None
