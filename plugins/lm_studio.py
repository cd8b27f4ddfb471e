"""LM Studio (read, not run: its documentation and issues, 2026-11; closed source).

Reasoning is in `reasoning_content` when the server is set to keep it apart, else `<think>` stays in the text. The
matched stop is not reported. `tool_choice` takes words alone (lmstudio-bug-tracker#670), so `required` stands for a
named tool. Whether earlier reasoning is read back is not documented; it is sent in the field it came in.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Content, Dialect, FinishReason, LenientCall, ReasoningField, UpstreamClient

DIALECT: Final = Dialect(
    max_stops=None,
    top_k=True,
    images="data",
    reasoning_history="reasoning_content",
    thinking_off={"reasoning_effort": "none"},
    efforts=("none", "minimal", "low", "medium", "high", "xhigh"),
    tool_choice=("auto", "any", "none"),
    parallel_tool_calls=False,
)


@attrs.frozen(eq=False)
class LMStudio:
    """LM Studio: reasoning in `reasoning_content`, no report of the matched stop."""

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
        return Content(ReasoningField("reasoning_content", "reasoning"))
