"""Token counts of a chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from core.deltas import Usage

Counts = Callable[[dict[str, Any]], Usage | None]
"""Finds the token counts of one chunk, an untrusted JSON object; None where there are none."""


@attrs.frozen
class UsageField:
    """Token counts in an object at the top of a chunk, under names of the engine's own.

    `cached` is the field with the part of the prompt that came from a cache; "": none. What is no count is 0.
    """

    name: str = "usage"
    input: str = "prompt_tokens"
    output: str = "completion_tokens"
    cached: str = ""

    def __call__(self, chunk: Mapping[str, Any]) -> Usage | None:
        """The counts, or None."""
        found = _object(chunk.get(self.name))
        return Usage(*(_count(found.get(field)) for field in (self.input, self.output, self.cached))) if found else None


def usage_of(chunk: Mapping[str, Any]) -> Usage | None:
    """The chunk's usage, wherever the engine puts it (at the top, at Groq in `x_groq`), or None when it counts nothing.

    `prompt_tokens` and `completion_tokens` are whole counts (cached and reasoning tokens included; where the total says
    that the reasoning tokens are not, as at xAI, they are added); one that is missing is what the total has beside the
    other. Cached tokens are in
    `prompt_tokens_details.cached_tokens`, at DeepSeek in `prompt_cache_hit_tokens`; created ones in
    `cache_write_tokens` (OpenAI) or `created_cache_tokens` (vLLM). Anything that is no count is 0.
    """
    usage = _object(chunk.get("usage")) or _object(_object(chunk.get("x_groq")).get("usage"))
    if not usage:
        return None
    details = _object(usage.get("prompt_tokens_details"))
    found = Usage(
        *_whole(usage),
        _count(details.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens")),
        _count(details.get("cache_write_tokens")) or _count(details.get("created_cache_tokens")),
    )
    # Zeros are placeholders on chunks that know nothing yet, or nothing more: they must not replace real counts.
    return found if found.input_tokens or found.output_tokens else None


def _whole(usage: Mapping[str, Any]) -> tuple[int, int]:
    """The tokens of the prompt and of the completion, the reasoning's in it."""
    prompt, completion, total = (_count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
    reasoning = _count(_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    if reasoning and total == prompt + completion + reasoning:
        return prompt, completion + reasoning
    if prompt and not completion:
        completion = max(0, total - prompt)
    elif completion and not prompt:
        prompt = max(0, total - completion)
    return prompt, completion


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def together(before: Usage | None, now: Usage) -> Usage:
    """The counts so far: what a later chunk does not tell again stays as it was."""
    if before is None:
        return now
    return Usage(
        now.input_tokens or before.input_tokens,
        now.output_tokens or before.output_tokens,
        now.cache_read_tokens or before.cache_read_tokens,
        now.cache_creation_tokens or before.cache_creation_tokens,
    )


def _count(value: Any) -> int:
    if value is None or (value.__class__ is int and 0 <= value < 2**53):
        return value or 0  # nearly all are such
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)
