"""Token counts of a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.deltas import Usage


def usage_of(chunk: Mapping[str, Any]) -> Usage | None:
    """The chunk's usage, wherever the engine puts it, or None.

    `prompt_tokens` and `completion_tokens` are whole counts (cached and reasoning tokens included). Cached tokens are
    in `prompt_tokens_details.cached_tokens`, at DeepSeek in `prompt_cache_hit_tokens`; created ones in
    `cache_write_tokens` (OpenAI) or `created_cache_tokens` (vLLM). Anything that is no count is 0.
    """
    usage = chunk.get("usage")
    if not usage or not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(details.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens")),
        _count(details.get("cache_write_tokens")) or _count(details.get("created_cache_tokens")),
    )


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)
