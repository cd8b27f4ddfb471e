"""vLLM (recorded 0.32, read 0.33).

`choices[].stop_reason` holds the matched stop string, a token's number, or null; reasoning is in `reasoning`
(`reasoning_content` before 0.12). At most four stop strings are taken, and `reasoning_effort` also switches the
template's thinking; templates call that switch `enable_thinking` or `thinking`, and look at no other. A schema for the
answer keeps the model from calling tools (vllm#39929).
"""

from __future__ import annotations

from typing import Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, ReasoningField, StopField, UpstreamClient

DIALECT: Final = Dialect(
    stop_report="match",
    top_k=True,
    prefill="continue",
    reasoning_history="reasoning",
    thinking_off={"chat_template_kwargs": {"enable_thinking": False, "thinking": False}},
    thinking_on={"chat_template_kwargs": {"enable_thinking": True, "thinking": True}},
    thinking_budget_field="thinking_token_budget",
    efforts=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    schema_with_tools=False,
    count="tokenize",
)


@attrs.frozen(eq=False)
class VLLM:
    """vLLM: reasoning in `reasoning`, the matched stop string in `choices[].stop_reason`."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
        """The call, in this dialect."""
        return Call(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self, request: Request) -> StopField:
        """How this engine says why it stopped."""
        return StopField("stop_reason", request.stop_sequences)

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning", "reasoning_content"))
