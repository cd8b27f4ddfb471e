"""Mistral's API (read, not run: its documentation and error bodies, 2026-11).

Refuses every field that it does not know, tool ids that are not nine letters and digits, and a user turn behind tool
results. Content may be parts, reasoning among them, in answers and in history; a last assistant turn needs `prefix`.
Usage comes without being asked for. Reasoning is on (`high`) or off (`none`).
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Content, Dialect, FinishReason, LenientCall, UpstreamClient

DIALECT: Final = Dialect(
    allowed_fields=(
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "top_p",
        "stop",
        "stream",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "reasoning_effort",
        "prompt_mode",
        "random_seed",
        "frequency_penalty",
        "presence_penalty",
        "safe_prompt",
        "prediction",
    ),
    max_stops=None,
    stream_usage=False,
    user_after_tool="bridge",
    prefill="prefix",
    reasoning_history="parts",
    thinking_on={"reasoning_effort": "high"},
    thinking_off={"reasoning_effort": "none"},
    efforts=("high",),
    tool_id_pattern="[a-zA-Z0-9]{9}",
)


@attrs.frozen(eq=False)
class Mistral:
    """Mistral: reasoning as parts of the content, strict about fields, ids and the order of turns."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> LenientCall:
        """The call, in this dialect."""
        return LenientCall(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self) -> FinishReason:
        """How this engine says why it stopped."""
        return FinishReason()

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content()
