"""The backend `demo`: an upstream inside the gateway, so that it answers with nothing else installed or running."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import ClassVar, Final

import anyio
import anyio.lowlevel
import attrs

from core import Chunk, Request, Route, UpstreamError, hookimpl
from core.chat import Call, Content, Dialect, ReasoningField, StopField, UpstreamClient, one_chunk
from plugins.demo import engine

DIALECT: Final = Dialect(
    max_stops=None,
    stop_report="match",
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
)


@attrs.frozen(eq=False)
class DemoCall(Call):
    """A call that is answered in this process: its client's table counts, but nothing is sent.

    Entering it raises UpstreamError when the engine refuses the request.
    """

    delay: float = 0.0
    """Seconds before each chunk."""

    async def __aenter__(self) -> AsyncIterator[list[Chunk]]:
        counting = self.request.task == "count_tokens"
        body = (await self.ready()).body()
        reply = engine.count(body) if counting else engine.answer(body)
        if reply.status != 200:
            raise UpstreamError(reply.objects[0]["error"]["message"], kind="invalid_request")
        return _Pieces(iter(reply.objects if reply.stream else map(one_chunk, reply.objects)), self.delay)


@attrs.frozen(eq=False)
class _Pieces:
    """The chunks, one list for each. A class and no generator, for a generator left early would have to be closed."""

    chunks: Iterator[Chunk]
    delay: float

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> list[Chunk]:
        # Without a pause the rest of the server would stand still for as long as an answer is.
        await (anyio.sleep(self.delay) if self.delay > 0 else anyio.lowlevel.checkpoint())
        for chunk in self.chunks:
            return [chunk]
        raise StopAsyncIteration


@attrs.frozen(eq=False)
class Demo:
    """An upstream in process: it reasons, counts, repeats, calls tools, the same way each time, without network."""

    needs_url: ClassVar[bool] = False

    delay: float = 0.0
    """Seconds between two chunks, to watch a stream come."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> DemoCall:
        """The call, answered by the engine of this package."""
        return DemoCall(request, route, client, DIALECT, delay=self.delay)

    @hookimpl
    def translate_content(self) -> Content:
        """Reasoning is in `reasoning_content`."""
        return Content(reasoning=ReasoningField("reasoning_content"))

    @hookimpl
    def translate_stop(self, request: Request) -> StopField:
        """The matched stop string is in `choices[].stop_reason`."""
        return StopField("stop_reason", request.stop_sequences)
