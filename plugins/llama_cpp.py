"""llama.cpp's server (recorded and run: 0c1e570, 2026-10).

It names the stop string that ended an answer only when asked to be verbose, in `__verbose.stopping_word`; reasoning is
in `reasoning_content`; a named tool choice is ignored, so `required` is sent in its place. Whole answers, and the
streams of some versions, repeat the assistant turn that they continue.
"""

from __future__ import annotations

import attrs

from core import ContentTranslator, Request, Route, hookimpl
from core.chat import LLAMA_CPP, Call, Content, ReasoningField, UpstreamClient, VerboseStop, without_echo


@attrs.frozen(eq=False)
class LlamaCpp:
    """llama.cpp: reasoning in `reasoning_content`, the matched stop string in `__verbose`."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
        """The call, in this dialect."""
        return Call(request, route, client, LLAMA_CPP)

    @hookimpl
    def translate_stop(self, request: Request) -> VerboseStop:
        """How this engine says why it stopped."""
        return VerboseStop(request.stop_sequences)

    @hookimpl
    def translate_content(self, request: Request) -> ContentTranslator:
        """Where this engine puts its reasoning; what it repeats of a prefill is left out."""
        return without_echo(Content(ReasoningField("reasoning_content")), request)
