"""Azure OpenAI (read, not run: its documentation and clients' issues, 2026-11).

The backend's `key` goes into the header `api-key`. `url` is `https://RESOURCE.openai.azure.com/openai/v1`, where the
model is the deployment's name, or `…/openai/deployments/NAME` with the `api-version` in the table's `query`. A first
chunk without choices, choices without a delta and `content_filter` are read as what they are. As with OpenAI, reasoning
models want `efforts` set and `sampling = false` in the table.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, UpstreamClient

DIALECT: Final = Dialect(
    max_tokens_field="max_completion_tokens",
    prefill="refuse",
)


@attrs.frozen(eq=False)
class Azure:
    """Azure OpenAI: OpenAI's chat completions behind another key header."""

    wraps: ClassVar[tuple[str, ...]] = ("stop_scan",)

    key_header: ClassVar[str] = "api-key"

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
        return Content()
