"""Where an engine puts its reasoning text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Reasoning(Protocol):
    """Finds the reasoning text of one delta."""

    def __call__(self, delta: Mapping[str, Any]) -> str:
        """The text, or "": absent, null and empty all mean none."""


class ReasoningField:
    """The first non-empty of the named fields of a delta; of a field that is a list, its items' texts.

    The names are alternatives and never added up: gpt-oss on several engines, OpenRouter and others send the same text
    under two names. The default takes every name seen in the field, OpenRouter's `reasoning_details` last.
    """

    def __init__(self, *names: str) -> None:
        self._names = names or ("reasoning_content", "reasoning", "reasoning_details")

    def __call__(self, delta: Mapping[str, Any]) -> str:
        """The text, or ""."""
        for name in self._names:
            value = delta.get(name)
            if not value:
                continue
            if isinstance(value, str):
                return value
            if isinstance(value, list) and (said := _joined(value)):
                return said
        return ""


def _joined(details: Sequence[Any]) -> str:
    """The texts and summaries of `reasoning_details`; encrypted items have none."""
    said = (item.get("text") or item.get("summary") for item in details if isinstance(item, dict))
    return "".join(text for text in said if isinstance(text, str))
