"""llama.cpp's server (recorded and run: 0c1e570, 2026-10).

It names the stop string that ended an answer only when asked to be verbose, in `__verbose.stopping_word`; reasoning is
in `reasoning_content`; a named tool choice is ignored, so `required` is sent in its place.
"""

from __future__ import annotations

from typing import Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, ReasoningField, UpstreamClient, VerboseStop

DIALECT: Final = Dialect(
    max_stops=None,
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_budget_field="thinking_budget_tokens",
    tool_choice=("auto", "any", "none"),
    extra={"verbose": True},
)


@attrs.frozen(eq=False)
class LlamaCpp:
    """llama.cpp: reasoning in `reasoning_content`, the matched stop string in `__verbose`."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
        """The call, in this dialect."""
        return Call(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self, request: Request) -> VerboseStop:
        """How this engine says why it stopped."""
        return VerboseStop(request.stop_sequences)

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning_content"))
