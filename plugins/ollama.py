"""Ollama (read fb30760, 2026-08).

Reasoning is in `reasoning`; the matched stop is not reported; `max_completion_tokens`, `tool_choice` and
`parallel_tool_calls` are ignored without a word. Images are taken inline, of three types; a tool result with parts
would lose its id. A model that cannot think refuses an effort: it is then asked without. A prompt longer than the
server's context is cut without a word, and an error amid a stream just ends it.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Content, Dialect, FinishReason, LenientCall, ReasoningField, UpstreamClient

DIALECT: Final = Dialect(
    max_stops=None,
    images="data",
    image_types=("image/jpeg", "image/png", "image/webp"),
    reasoning_history="reasoning",
    thinking_off={"reasoning_effort": "none"},
    efforts=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    tool_choice=("auto",),
    parallel_tool_calls=False,
)


@attrs.frozen(eq=False)
class Ollama:
    """Ollama: reasoning in `reasoning`, no report of the matched stop."""

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
        return Content(ReasoningField("reasoning", "reasoning_content"))
