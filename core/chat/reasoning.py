"""Where an engine puts its reasoning text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Reasoning = Callable[[dict[str, Any]], str]
"""Finds the reasoning text of one delta, an untrusted JSON object; "" where there is none."""

_TEXTS: Final = ("text", "summary")


class ReasoningField:
    """The first non-empty of the named fields of a delta; of a field that is a list, its items' texts, joined.

    The names are alternatives and never added up: gpt-oss on several engines, OpenRouter and others send the same text
    under two names. The default takes every name seen in the field, OpenRouter's `reasoning_details` last. `texts` are
    the fields, alternatives too, in which an item of a list has its text; encrypted items have none.
    """

    def __init__(self, *names: str, texts: Sequence[str] = _TEXTS) -> None:
        self._names = names or ("reasoning_content", "reasoning", "reasoning_details")
        self._texts = texts

    def __call__(self, delta: Mapping[str, Any]) -> str:
        """The text, or ""."""
        for name in self._names:
            value = delta.get(name)
            if not value:
                continue
            if isinstance(value, str):
                return value
            if isinstance(value, list) and (said := self._joined(value)):
                return said
        return ""

    def _joined(self, items: Sequence[Any]) -> str:
        return "".join(self._text(item) for item in items if isinstance(item, dict))

    def _text(self, item: Mapping[str, Any]) -> str:
        said = next(filter(None, map(item.get, self._texts)), "")
        return said if isinstance(said, str) else ""
