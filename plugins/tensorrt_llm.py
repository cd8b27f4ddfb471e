"""TensorRT-LLM's server (read, not run: `tensorrt_llm/serve` at 0076e93, 2026).

`choices[].stop_reason` holds the matched stop string, a token's number, or null. Unknown fields are refused, and tools
without a `tool_choice` are not used: `auto` is sent. Reasoning is in `reasoning_content`, of gpt-oss in `reasoning`
too. A template that does not use a kwarg refuses it; the request is then sent without. A last assistant turn is
answered, not continued: there is no field that would say so.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Content, Dialect, LenientCall, ReasoningField, StopField, UpstreamClient

DIALECT: Final = Dialect(
    allowed_fields=(
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "stop",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "reasoning_effort",
        "thinking",
        "thinking_token_budget",
        "chat_template_kwargs",
        "frequency_penalty",
        "presence_penalty",
        "repetition_penalty",
        "logit_bias",
        "seed",
        "user",
    ),
    max_stops=None,
    prefill="refuse",
    stop_report="match",
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_on={"thinking": {"type": "enabled"}},
    thinking_off={"thinking": {"type": "disabled"}, "chat_template_kwargs": {"enable_thinking": False}},
    thinking_budget_field="thinking_token_budget",
    efforts=("none", "low", "medium", "high", "max"),
)


SWITCHES: Final = ("reasoning_effort", "thinking", "chat_template_kwargs", "thinking_token_budget")


@attrs.frozen(eq=False)
class TensorRTLLMCall(LenientCall):
    """Asks for `auto` where the client leaves the choice of tools open: this engine's own default is `none`."""

    def body(self) -> dict[str, Any]:
        """The body."""
        body = super().body()
        return {**body, "tool_choice": body.get("tool_choice", "auto")} if "tools" in body else body


@attrs.frozen(eq=False)
class TensorRTLLM:
    """TensorRT-LLM: reasoning in `reasoning_content`, the matched stop string in `choices[].stop_reason`."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> TensorRTLLMCall:
        """The call, in this dialect."""
        return TensorRTLLMCall(request, route, client, DIALECT, switches=SWITCHES)

    @hookimpl
    def translate_stop(self, request: Request) -> StopField:
        """How this engine says why it stopped."""
        return StopField("stop_reason", request.stop_sequences)

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning_content", "reasoning"))
