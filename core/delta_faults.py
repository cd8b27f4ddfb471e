"""Is this a delta? What a plugin gave is looked at field by field, so that a wrong one is its giver's fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from core.deltas import Model, State, Stop, StopReason, Text, Thinking, ToolUse, Usage

_REASONS: Final = frozenset(get_args(StopReason))


def fault_of(delta: object) -> str:
    """What is wrong with a delta, in words; "" for a sound one."""
    check = _CHECKS.get(delta.__class__)
    if check is None:
        return f"{type(delta).__name__}, which is no delta"
    return "" if check(delta) else f"{type(delta).__name__} with a field of another type than its own"


def _stop(delta: Any) -> bool:
    known = isinstance(delta.reason, str) and delta.reason in _REASONS
    return known and (delta.sequence is None or isinstance(delta.sequence, str))


def _tool(delta: Any) -> bool:
    texts = isinstance(delta.arguments, str) and isinstance(delta.id, str) and isinstance(delta.name, str)
    return texts and isinstance(delta.index, int)


def _usage(delta: Any) -> bool:
    whole = isinstance(delta.input_tokens, int) and isinstance(delta.output_tokens, int)
    return whole and isinstance(delta.cache_read_tokens, int) and isinstance(delta.cache_creation_tokens, int)


_CHECKS: Final[Mapping[type, Callable[[Any], bool]]] = {
    Text: lambda delta: isinstance(delta.text, str),
    Thinking: lambda delta: isinstance(delta.text, str),
    ToolUse: _tool,
    Usage: _usage,
    Stop: _stop,
    State: lambda delta: isinstance(delta.message, Mapping) and isinstance(delta.calls, Mapping),
    Model: lambda delta: isinstance(delta.id, str),
}
