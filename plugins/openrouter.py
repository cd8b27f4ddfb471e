"""OpenRouter (read, not run: its documentation and clients' issues, 2026-11).

Reasoning is in `reasoning` and, for the model to read again, in `reasoning_details`: those are kept and given back
unchanged. It is steered by one object `reasoning`, with an effort or a token budget but not both; `reasoning_effort`
beside it is refused. An error that comes after generation began has status 200: an `error` object, or a chunk whose
finish_reason is `error`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, ReasoningField, UpstreamClient

DIALECT: Final = Dialect(
    top_k=True,
    files=True,
    reasoning_history="reasoning",
    keep=("reasoning_details",),
    thinking_on={"reasoning": {"enabled": True}},
    thinking_off={"reasoning_effort": "none"},
    thinking_budget_field="reasoning_max_tokens",
    efforts=("none", "minimal", "low", "medium", "high", "xhigh"),
)


@attrs.frozen(eq=False)
class OpenRouterCall(Call):
    """Puts what the dialect says about reasoning into OpenRouter's one object."""

    def body(self) -> dict[str, Any]:
        """The body; `reasoning` holds the effort, or else the budget."""
        body = super().body()
        effort, budget = body.pop("reasoning_effort", None), body.pop("reasoning_max_tokens", None)
        if effort is not None:
            body["reasoning"] = {"effort": effort}
        elif budget is not None:
            body["reasoning"] = {"max_tokens": budget}
        return body


@attrs.frozen(eq=False)
class OpenRouter:
    """OpenRouter: reasoning in `reasoning`, and in `reasoning_details` for the model."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> OpenRouterCall:
        """The call, in this dialect."""
        return OpenRouterCall(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self) -> FinishReason:
        """How this engine says why it stopped."""
        return FinishReason()

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning", "reasoning_content", "reasoning_details"), keep=DIALECT.keep)
