"""`transformers serve` (refusals recorded from 5.19, the rest read in 5.24, 2026-11).

Refuses every field but its own. Reasoning is in `reasoning_content` where the server splits it off, and is never read
back; of a turn with calls the text is dropped; a last assistant turn is not continued. The matched stop is not
reported, and its text stays in the answer. A stream has usage on its last chunk without being asked, and no [DONE]. The
model's name must be the one that is served. `generation_config` (in `extra_body`, a JSON string) takes the place of the
model's own and of `top_k`.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, ReasoningField, UpstreamClient

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
        "frequency_penalty",
        "logit_bias",
        "seed",
        "chat_template_kwargs",
        "generation_config",
    ),
    max_stops=None,
    stream_usage=False,
    response_format="none",
    prefill="refuse",
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    tool_choice=("auto",),
    parallel_tool_calls=False,
)


@attrs.frozen(eq=False)
class TransformersServe:
    """transformers serve: reasoning in `reasoning_content`, no report of the matched stop."""

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
