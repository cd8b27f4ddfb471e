"""A prompt that is too long, said in the words on which clients act.

Claude Code compacts the conversation, lowers `max_tokens` or asks again with the cap, but only when it reads the
Messages API's own sentences. Engines say the same in their own (`core.chat.wordings`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from core.chat.wordings import Length, cap_in, length_in, speaks_of_length

_OURS: Final = re.compile(
    r"prompt is too long: \d+ tokens > \d+ maximum|input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+"
    r"|max_tokens: \d+ > \d+, which is the maximum allowed number of output tokens"
)
"""The API's own sentences: an upstream may be a server of that API, somewhere behind."""

_TOO_LONG: Final = "prompt is too long"


def overflow(message: str, word: str = "", fields: Mapping[str, Any] | None = None, asked: int = 0) -> str | None:
    """The Messages API's sentence for an engine's error about length, or None when it is about something else.

    `word` is the error's type and code; `fields` the error object, where llama.cpp puts `n_prompt_tokens` and `n_ctx`;
    `asked` the token limit that was sent, for messages that tell the cap alone (0: not known).
    """
    if own := _OURS.search(message):
        return message[own.start() :]
    length = length_in(message)
    if said := _about(length if length.window else _told(fields or {})):
        return said
    told, cap = cap_in(message)
    if cap:
        over = told or asked
        # A number that fits would contradict the sentence, and a client would act on it.
        subject = str(over) if over > cap else "the limit asked for"
        return f"max_tokens: {subject} > {cap}, which is the maximum allowed number of output tokens for this model"
    if not speaks_of_length(f"{word} {message}"):
        return None
    at = message.lower().find(_TOO_LONG)
    if at >= 0:
        return _TOO_LONG + message[at + len(_TOO_LONG) :]
    return f"{_TOO_LONG}: {message}" if message else _TOO_LONG


def _about(length: Length) -> str:
    """The sentence with its numbers; "" where they are missing, or fit and so cannot be what they were taken for."""
    if not (length.window and length.prompt):
        return ""
    if length.prompt >= length.window:
        # Some engines want room for one token more, and refuse a prompt that just fills the window.
        return f"{_TOO_LONG}: {length.prompt} tokens > {min(length.window, length.prompt - 1)} maximum"
    if length.prompt + length.output > length.window:
        return (
            f"input length and `max_tokens` exceed context limit: {length.prompt} + {length.output} > {length.window}, "
            "decrease input length or `max_tokens` and try again"
        )
    return ""


def _told(fields: Mapping[str, Any]) -> Length:
    prompt, window = fields.get("n_prompt_tokens"), fields.get("n_ctx")
    return Length(prompt, 0, window) if isinstance(prompt, int) and isinstance(window, int) else Length()
