"""The correct backend that every mutant is a small variation of, and its parts laid open for variation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import attrs
import httpx

from core import Chunk, ContentTranslator, Delta, Request, Route, StopTranslator, UpstreamCall, hookimpl
from core.chat import Call, ChunkReader, Content, Dialect, Reasoning, ReasoningField, StopField, UpstreamClient
from core.chat.names import restorer
from core.chat.restore import restore_names
from core.chat.text import dumps
from core.chat.transport import NETWORK_ERRORS, network_error

DIALECT: Final = Dialect(
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    count="tokenize",
    keep_in_calls=("extra_content",),
)


@attrs.frozen(eq=False)
class Correct:
    """Reasoning in `reasoning_content`, the same perhaps in `reasoning`; the matched stop in `choices[].stop_reason`.

    A mutant overrides one of `call`, `content`, `reasoning` and `stop`.
    """

    reasoning_field: str = "reasoning_content"
    """The field that holds the reasoning."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        """The call."""
        return self.call(request, route, client)

    @hookimpl
    def translate_content(self, request: Request) -> ContentTranslator:
        """Where this engine puts its reasoning."""
        return self.content(request)

    @hookimpl
    def translate_stop(self, request: Request) -> StopTranslator:
        """How this engine says why it stopped."""
        return self.stop(request)

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return Call(request, route, client, DIALECT)

    def content(self, request: Request) -> ContentTranslator:
        return Content(self.reasoning(), keep_in_calls=DIALECT.keep_in_calls)

    def reasoning(self) -> Reasoning:
        return ReasoningField(self.reasoning_field, "reasoning")

    def stop(self, request: Request) -> StopTranslator:
        return StopField("stop_reason", request.stop_sequences)


class Steps(Content):
    """Content with a place before it for chunks and one behind it for deltas."""

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        return self.given(super().feed(self.taken(chunk)))

    def flush(self) -> Sequence[Delta]:
        return self.given(super().flush())

    def taken(self, chunk: Chunk) -> Chunk:
        return chunk

    def given(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        return deltas


def edited(chunk: Chunk, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Chunk:
    """The chunk with the delta of each choice changed; the chunk itself stays as it was."""
    choices = [{**choice, "delta": change(choice.get("delta") or {})} for choice in chunk.get("choices") or ()]
    return {**chunk, "choices": choices} if choices else chunk


class Batches:
    """Lists of chunks, and what happens when they are left."""

    def __init__(self, chunks: Any, end: Callable[[], Awaitable[object]]) -> None:
        self._chunks, self._end = chunks, end

    def __aiter__(self) -> AsyncIterator[list[Chunk]]:
        return self

    async def __anext__(self) -> list[Chunk]:
        found: list[Chunk] = await anext(self._chunks)
        return found

    async def aclose(self) -> None:
        if isinstance(self._chunks, AsyncGenerator):
            await self._chunks.aclose()
        await self._end()


@attrs.frozen(eq=False)
class ReadingCall(Call):
    """`Call`, correct too, with its sending and its reading laid open; `reader` makes chunks of bytes."""

    reader: Callable[[Sequence[str]], ChunkReader] = ChunkReader

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        response = await self.post(dumps(self.body()))
        return self._owned(Batches(self.read(response), response.aclose))

    async def post(self, body: bytes) -> httpx.Response:
        return await self.client.post(body, self.url)

    async def read(self, response: httpx.Response) -> AsyncGenerator[list[Chunk]]:
        reader = self.reader(self.client.hidden(self.url))
        try:
            async for data in response.aiter_bytes():
                if chunks := self.named(reader.feed(data)):
                    yield chunks
                if reader.error is not None:
                    raise reader.error
                if reader.done:
                    return
        except NETWORK_ERRORS as error:
            if not reader.finished:
                raise network_error(error) from error
        if chunks := self.named(reader.flush()):
            yield chunks
        if reader.error is not None:
            raise reader.error

    def named(self, chunks: list[Chunk]) -> list[Chunk]:
        """The chunks with the client's names of its tools."""
        restore_names(chunks, restorer(self.request, self.client.dialect(self.dialect)))
        return chunks
