"""SGLang (read 0.5.23).

`choices[].matched_stop` holds the matched stop string, or a token's number at a plain end; reasoning is in
`reasoning_content`. A schema for the answer is refused beside a required tool, and beside others it keeps the model
from calling any (sglang#25777).
"""

from __future__ import annotations

from typing import Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, ReasoningField, StopField, UpstreamClient

DIALECT: Final = Dialect(
    max_stops=32,
    stop_report="match",
    top_k=True,
    prefill="continue",
    reasoning_history="reasoning_content",
    thinking_off={"chat_template_kwargs": {"enable_thinking": False, "thinking": False}},
    thinking_on={"chat_template_kwargs": {"enable_thinking": True, "thinking": True}},
    efforts=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    schema_with_tools=False,
    count="tokenize",
)


@attrs.frozen(eq=False)
class SGLang:
    """SGLang: reasoning in `reasoning_content`, the matched stop string in `choices[].matched_stop`."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
        """The call, in this dialect."""
        return Call(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self, request: Request) -> StopField:
        """How this engine says why it stopped."""
        return StopField("matched_stop", request.stop_sequences)

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning_content"))
