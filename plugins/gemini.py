"""Gemini's OpenAI-compatible API (read, not run: its documentation and clients' issues, 2026-11).

`url` is `https://generativelanguage.googleapis.com/v1beta/openai`. A tool call carries a thought signature in its
`extra_content` and must come back with it; a call of another model's goes with the value that Google documents for
such. Thoughts come inside the text when asked for, so they are not. Models that always think refuse `none` and think
their default amount. An error body is an array. Most models refuse a schema for the answer beside tools
(python-genai#867).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Content, Dialect, FinishReason, LenientCall, UpstreamClient

DIALECT: Final = Dialect(
    max_stops=5,
    keep_in_calls=("extra_content",),
    thinking_off={"reasoning_effort": "none"},
    efforts=("none", "minimal", "low", "medium", "high"),
    parallel_tool_calls=False,
    schema_with_tools=False,
)


UNSIGNED: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Stands for the signature of a call that Gemini did not make."""


@attrs.frozen(eq=False)
class GeminiCall(LenientCall):
    """Marks the calls of other models in the history, which have no thought signature."""

    def body(self) -> dict[str, Any]:
        """The body; of each turn's calls the first at least is signed, which is the one that Gemini looks at."""
        body = super().body()
        for message in body["messages"]:
            calls = message.get("tool_calls")
            if calls and not any("extra_content" in call for call in calls):
                calls[0]["extra_content"] = UNSIGNED
        return body


@attrs.frozen(eq=False)
class Gemini:
    """Gemini: no reasoning text, thought signatures kept in the tool calls."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> GeminiCall:
        """The call, in this dialect."""
        return GeminiCall(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self) -> FinishReason:
        """How this engine says why it stopped."""
        return FinishReason()

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content(keep_in_calls=DIALECT.keep_in_calls)
