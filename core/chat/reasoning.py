"""Where an engine puts its reasoning text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Reasoning(Protocol):
    """Finds the reasoning text of one delta."""

    def __call__(self, delta: Mapping[str, Any]) -> str:
        """The text, or "": absent, null and empty all mean none."""


class ReasoningField:
    """The first non-empty of the named fields of a delta.

    The names are alternatives and never added up: gpt-oss on several engines, OpenRouter and others send the same text
    under two names. The default takes every name seen in the field.
    """

    def __init__(self, *names: str) -> None:
        self._names = names or ("reasoning_content", "reasoning")

    def __call__(self, delta: Mapping[str, Any]) -> str:
        """The text, or ""."""
        for name in self._names:
            value = delta.get(name)
            if value and isinstance(value, str):
                return value
        return ""
