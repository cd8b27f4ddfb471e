"""Text in pieces."""

from __future__ import annotations

from collections.abc import Iterable


def pieces(text: str, places: Iterable[int]) -> list[str]:
    """The text cut at the places, which are taken modulo its length."""
    inside = sorted({place % len(text) for place in places} - {0}) if text else []
    return [text[start:end] for start, end in zip([0, *inside], [*inside, len(text)], strict=True)]
