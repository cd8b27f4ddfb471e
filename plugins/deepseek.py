"""DeepSeek's API (read, not run: its documentation, 2026-11).

Thinks unless told not to, in `reasoning_content`, and refuses a turn with tool calls that comes back without it, be it
empty. Knows JSON mode but no schema: the schema goes into the system prompt, too. Keeps connections alive with blank
lines, in front of whole answers too. A last assistant turn is continued at `https://api.deepseek.com/beta` alone.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, ReasoningField, UpstreamClient

DIALECT: Final = Dialect(
    max_stops=16,
    response_format="json_object",
    prefill="prefix",
    images="none",
    reasoning_history="reasoning_content",
    reasoning_required=True,
    thinking_on={"thinking": {"type": "enabled"}},
    thinking_off={"thinking": {"type": "disabled"}},
    efforts=("minimal", "low", "medium", "high", "xhigh", "max"),
    parallel_tool_calls=False,
)


@attrs.frozen(eq=False)
class DeepSeek:
    """DeepSeek: reasoning in `reasoning_content`, which tool-call turns must bring back."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
        """The call, in this dialect."""
        return Call(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self) -> FinishReason:
        """How this engine says why it stopped."""
        return FinishReason()

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning_content"))
