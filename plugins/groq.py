"""Groq (read, not run: its documentation and clients' issues, 2026-11).

`reasoning_format: parsed` puts the reasoning into `reasoning`; raw, the default of some models, would leave it in the
text. Models differ in which switches they take (`reasoning_effort` is `none` or `default` for Qwen, low to high for
gpt-oss), so a refused one is left out. Of what Groq refuses (logprobs, logit_bias, names in messages, n) nothing is
ever sent. Whether earlier reasoning may be sent is not documented; it is not. A schema for the answer is taken neither
beside tools nor in a stream, and by some models alone: for others set `response_format = "json_object"`.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Content, Dialect, FinishReason, LenientCall, ReasoningField, UpstreamClient

DIALECT: Final = Dialect(
    thinking_off={"reasoning_effort": "none"},
    efforts=("low", "medium", "high"),
    schema_with_tools=False,
    extra={"reasoning_format": "parsed"},
)


@attrs.frozen(eq=False)
class Groq:
    """Groq: reasoning in `reasoning`, no report of the matched stop."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> LenientCall:
        """The call, in this dialect."""
        stream = False if request.output_schema is not None and not request.tools else None
        return LenientCall(request, route, client, DIALECT, stream, switches=("reasoning_format", "reasoning_effort"))

    @hookimpl
    def translate_stop(self) -> FinishReason:
        """How this engine says why it stopped."""
        return FinishReason()

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(ReasoningField("reasoning"))
