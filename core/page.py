"""A plugin's own page: what the `page` hook answers."""

from __future__ import annotations

import attrs


@attrs.frozen
class Page:
    """A small answer of a plugin's own, outside of the client's protocol: a page of metrics, say."""

    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    status: int = 200
