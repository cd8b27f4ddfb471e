"""Chunks, and whole completions as chunks: what matters in them, whatever else an engine puts there."""

from __future__ import annotations

from typing import Any, Final

Chunk = dict[str, Any]
"""One chat-completions JSON object from the upstream, untrusted."""

_EMPTY: Final[dict[str, Any]] = {}
_FIRST: Final = (0, None, "0", "")
"""The `index` of the choice that was asked for, as servers write it."""


def the_choice(chunk: Chunk) -> dict[str, Any]:
    """The choice that matters (`index` 0, or none given), or {}: chunks are untrusted."""
    choices = chunk.get("choices")
    if choices.__class__ is not list:
        return _EMPTY
    for choice in choices:
        if choice.__class__ is dict and choice.get("index") in _FIRST:
            return choice
    return _EMPTY


def the_delta(choice: dict[str, Any]) -> dict[str, Any]:
    """The choice's delta, or {} (Azure sends choices without one)."""
    delta = choice.get("delta")
    return delta if delta.__class__ is dict else _EMPTY


def is_plain(value: Any) -> bool:
    """Whether an event's JSON is what nearly all are: a piece of the answer, no error and no end, with one choice."""
    try:
        (choice,) = value["choices"]
        whole = choice["delta"].__class__ is dict and choice["index"] == 0 and choice["finish_reason"] is None
        return whole and "error" not in value and value["object"] == "chat.completion.chunk"
    except (KeyError, TypeError, ValueError):
        return False


def has_message(choice: dict[str, Any]) -> bool:
    """Whether a completion's choice holds an answer."""
    return isinstance(choice.get("message", choice.get("delta")), dict)


def one_chunk(completion: Chunk) -> Chunk:
    """A whole completion as a single chunk: `message` becomes `delta`, calls get their numbers.

    Shape: {"choices": [{…, "delta": {…}, "finish_reason": str}], …the rest as it was}. A completion is complete, so an
    absent finish_reason becomes "stop".
    """
    choice = the_choice(completion)
    if not choice:
        return completion
    delta = the_delta({"delta": choice.get("message", choice.get("delta"))})
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        numbered = [{**call, "index": number} for number, call in enumerate(calls) if isinstance(call, dict)]
        delta = {**delta, "tool_calls": numbered}
    kept = {key: value for key, value in choice.items() if key not in ("message", "delta", "finish_reason")}
    return {
        **completion,
        "choices": [{**kept, "delta": delta, "finish_reason": choice.get("finish_reason") or "stop"}],
    }
