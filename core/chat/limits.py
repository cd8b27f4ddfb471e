"""What an engine or a model sets limits to: tokens, stop sequences, and the fields a body may have."""

from __future__ import annotations

import math
from typing import Any, Final

from core.chat.dialect import Dialect
from core.chat.text import loads
from core.errors import RequestError
from core.estimate import estimate_input_tokens
from core.request import Request
from core.route import Candidate

PROMPT_MARGIN: Final = 1.25
"""How much longer than its estimate a prompt may be: code and JSON have shorter tokens than prose."""

_LIMITS: Final = ("max_completion_tokens", "max_tokens")

_ALWAYS: Final = ("model", "messages")
_MEANING: Final = {
    "tools": "tools: this model's server takes no tools",
    "continue_final_message": "messages: this model's server does not continue an assistant message",
}
"""Fields without which a request would be another one, and what the client is told."""


def token_limit(request: Request, candidate: Candidate, dialect: Dialect) -> int | None:
    """The token limit to send: what the client asked for, clamped to what model and engine may give; None for none.

    Where the model's window is known, the limit also leaves room for the prompt, by a generous estimate: agents ask
    for more than small windows hold, and engines refuse that. A prompt that fills the window is the engine's to refuse.
    """
    if request.max_tokens is None:
        return None
    # 0 means "only read the prompt": engines refuse it, so one token is asked for (and thrown away by the answer).
    asked = max(1, request.max_tokens)
    for most in (candidate.max_output_tokens, dialect.max_tokens_limit):
        asked = asked if most is None else min(asked, most)
    if candidate.context is not None:
        room = candidate.context - math.ceil(estimate_input_tokens(request) * PROMPT_MARGIN)
        asked = min(asked, room if room > 0 else candidate.context)
    return asked


def limit_in(body: bytes) -> int:
    """The token limit in a body that was sent; 0 where there is none."""
    try:
        sent = loads(body)
    except ValueError:
        return 0
    limits = [sent.get(field) for field in _LIMITS] if isinstance(sent, dict) else []
    return next((limit for limit in limits if isinstance(limit, int)), 0)


def stop_list(request: Request, dialect: Dialect) -> list[str]:
    """The stop sequences as the engine takes them, each once. Raises RequestError for more than it does."""
    stops = list(dict.fromkeys(request.stop_sequences))
    if dialect.max_stops is not None and len(stops) > dialect.max_stops:
        raise RequestError(
            f"stop_sequences: this model's server takes at most {dialect.max_stops}, the request has {len(stops)}"
        )
    return stops


def only_allowed(body: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The body without the fields that a strict engine does not take.

    Raises RequestError, which names the client's field, where the rest would be another request.
    """
    out = {}
    meaning = {**_MEANING, dialect.stop_field: "stop_sequences: this model's server takes no stop sequences"}
    for field, value in body.items():
        if field in _ALWAYS or dialect.takes(field):
            out[field] = value
        elif field in meaning:
            raise RequestError(f"{meaning[field]}; send the request without")
    return out
