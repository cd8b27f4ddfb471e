"""What went wrong, from an engine that says it in a shape of its own: in a refusal, a body with status 200, a chunk."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import attrs

_SECONDS: Final = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def seconds(value: Any) -> float | None:
    """Seconds to wait, from a number, its text or an HTTP date; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value < 1e9 else None
    if not isinstance(value, str):
        return None
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    try:
        at = parsedate_to_datetime(value)
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def error_status(value: Any) -> int:
    """An HTTP status of an error, as a number or its text; 0 for anything else."""
    if isinstance(value, str) and len(value) == 3 and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599 else 0


def _message(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, str | int) and value else ""


@attrs.frozen
class Problem:
    """What an engine says went wrong. Each field takes what the engine sent, and is empty where that is no such thing.

    `message` is its sentence. `word` is its type or code, best one with a meaning to hookline (docs/plugins.md lists
    them); `status` is an HTTP status, where the engine says one beside the HTTP answer's own. `status` decides before
    `word`, and that before the HTTP answer's own. `retry_after` is in seconds, or as in the header of that name.
    """

    message: str = attrs.field(default="", converter=_message)
    word: str = attrs.field(default="", converter=_word)
    status: int = attrs.field(default=0, converter=error_status)
    retry_after: float | None = attrs.field(default=None, converter=seconds)


Problems = Callable[[Any, Mapping[str, str]], Problem | None]
"""Finds the problem in a refusal's body, in a body with status 200, and in each chunk, given with the headers of the
HTTP answer. The body is its JSON value, or its text where it is none. None: no problem of this engine's own kind."""


@attrs.frozen
class ProblemField:
    """The problem in a field of the body: an object, or the sentence alone.

    `message` and `word` name the object's fields with the sentence and the type or code. `words` says what a type of
    the engine's is here: a word that hookline knows, or a status. `retry_after` is the header to wait by.
    """

    name: str
    message: str = "message"
    word: str = "type"
    words: Mapping[str, Any] = attrs.field(factory=dict)
    retry_after: str = "retry-after"

    def __call__(self, body: Any, headers: Mapping[str, str]) -> Problem | None:
        """The problem; None where the field is missing or empty."""
        told = body.get(self.name) if isinstance(body, dict) else None
        if not told:
            return None
        wait = headers.get(self.retry_after)
        if not isinstance(told, dict):
            return Problem(told, retry_after=wait)
        said = told.get(self.word)
        known = self.words.get(str(said), said)
        return Problem(told.get(self.message) or said, known, known if isinstance(known, int) else 0, wait)
