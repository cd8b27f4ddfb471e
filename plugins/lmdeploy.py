"""LMDeploy (read, not run: 1263d5c, 2026-08).

Reasoning is in `reasoning_content`; the matched stop is not reported. Stop strings become token ids there: one of more
than one token never matches, one of a single token matches every token that contains it and swallows that whole token.
`reasoning_effort` takes four words and refuses the rest.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, ReasoningField, UpstreamClient

DIALECT: Final = Dialect(
    max_stops=None,
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    efforts=("low", "medium", "high", "max"),
)


@attrs.frozen(eq=False)
class LMDeploy:
    """LMDeploy: reasoning in `reasoning_content`, no report of the matched stop."""

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
