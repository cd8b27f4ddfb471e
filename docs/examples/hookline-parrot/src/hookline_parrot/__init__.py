"""Parrot server: reasoning in `delta.thoughts`, the matched stop string in `choices[].halted_by`."""

import attrs
from core import Request, Route, hookimpl
from core.chat import Call, Content, Dialect, ReasoningField, StopField, UpstreamClient


@attrs.frozen(eq=False)
class Parrot:
    """`voice` is the bird that answers; the server takes it with every request."""

    voice: str = "grey"

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
        """The call, in this server's dialect."""
        return Call(request, route, client, Dialect(max_stops=8, top_k=True, extra={"voice": self.voice}))

    @hookimpl
    def translate_content(self) -> Content:
        """Where this server puts its reasoning."""
        return Content(ReasoningField("thoughts"))

    @hookimpl
    def translate_stop(self, request: Request) -> StopField:
        """How this server says which stop sequence matched."""
        return StopField("halted_by", request.stop_sequences)
