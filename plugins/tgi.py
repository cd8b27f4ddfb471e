"""Text Generation Inference (read, not run: db931fc, 2026-01; not developed any more).

finish_reason `stop_sequence` says that a stop string matched, but not which one. Reasoning stays in the text. A model's
name other than `tgi` is taken for a LoRA adapter: without `model` in [models] the name is `tgi`. Of a turn with text
and calls only the text would be kept. A schema for the answer is refused beside tools.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, StopKind, UpstreamClient

DIALECT: Final = Dialect(
    stop_report="kind",
    count="chat_tokenize",
    parallel_tool_calls=False,
    schema_with_tools=False,
)


@attrs.frozen(eq=False)
class TGICall(Call):
    """Names the one model there is, and keeps the calls of a turn that has text, too."""

    def body(self) -> dict[str, Any]:
        """The body."""
        body = super().body()
        if self.route.model == self.request.model:
            body["model"] = "tgi"
        for message in body["messages"]:
            if message.get("tool_calls"):
                message["content"] = None
        return body


@attrs.frozen(eq=False)
class TGI:
    """Text Generation Inference: of the matched stop it tells the kind; no reasoning field."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> TGICall:
        """The call, in this dialect."""
        return TGICall(request, route, client, DIALECT)

    @hookimpl
    def translate_stop(self, request: Request) -> StopKind:
        """How this engine says why it stopped."""
        return StopKind(request.stop_sequences)

    @hookimpl
    def translate_content(self) -> Content:
        """Where this engine puts its reasoning."""
        return Content()
