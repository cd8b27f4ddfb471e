"""Dialect: what one engine's chat-completions requests must look like, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs


@attrs.frozen
class Dialect:
    """What one engine accepts and wants in a request. A backend's table in pipelines.toml may override single fields.

    The defaults are OpenAI's own chat completions. All `Mapping` fields are JSON objects merged into the body.
    """

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The one token limit that is sent."""
    stop: bool = True
    """Whether the client's stop sequences are sent as `stop` (always as a list)."""
    max_stops: int | None = 4
    """How many `stop` takes; a request with more is refused. None: any number."""
    top_k: bool = False
    """Whether `top_k` is a field of the engine's."""
    stream_usage: bool = True
    """Whether a stream is asked for its usage (`stream_options`)."""
    system_role: Literal["system", "developer"] = "system"
    """The role of the system prompt."""
    late_system: Literal["fold", "keep", "hoist"] = "fold"
    """A system turn among the messages: folded into the user's turn (most templates refuse one there), kept in place,
    or hoisted to the top."""
    reasoning_history: Literal["", "reasoning", "reasoning_content"] = ""
    """The field of an assistant message that takes the reasoning of earlier turns; "" drops it."""
    thinking_on: Mapping[str, Any] = attrs.field(factory=dict)
    """Sent when the client asks for thinking (enabled, adaptive)."""
    thinking_off: Mapping[str, Any] = attrs.field(factory=dict)
    """Sent when the client switches thinking off (disabled, between_tools)."""
    thinking_budget_field: str = ""
    """The field that takes the client's thinking budget in tokens; "" if there is none."""
    efforts: tuple[str, ...] = ()
    """The values of `reasoning_effort` that the engine knows, weakest first; empty: the field is not sent."""
    parallel_tool_calls: bool = True
    """Whether `parallel_tool_calls` is a field of the engine's."""
    tool_choice: tuple[str, ...] = ("auto", "any", "tool", "none")
    """The modes of tool choice that the engine obeys; another one is sent as the nearest of them."""
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    """Sent with every request."""
