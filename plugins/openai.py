"""OpenAI's own chat completions, and any server that speaks just that.

The matched stop sequence is not reported. OpenAI's reasoning models want, in the backend's table,
`max_tokens_field = "max_completion_tokens"`, `sampling = false` and the `efforts` that the model knows. A last
assistant turn is not continued but answered, so it is refused; `prefill = "as_is"` is for servers that do continue it.
"""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, FinishReason, UpstreamClient

DIALECT: Final = Dialect(files=True, prefill="refuse")


@attrs.frozen(eq=False)
class OpenAI:
    """Plain chat completions; takes reasoning from either of its two usual fields."""

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
        return Content()
