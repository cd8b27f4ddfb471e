"""The upstream call: one request to a chat-completions server, its chunks, and its end."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Self

import anyio
import attrs
import httpx

from core.chat.body import chat_body
from core.chat.chunks import Chunk, ChunkReader
from core.chat.client import UpstreamClient
from core.chat.counting import count_prompt
from core.chat.dialect import Dialect
from core.chat.document_texts import with_document_texts
from core.chat.names import restorer
from core.chat.pace import Pace
from core.chat.problems import Problems
from core.chat.restore import restore_names
from core.chat.text import dumps
from core.chat.transport import NETWORK_ERRORS, network_error
from core.errors import GatewayError, RequestError, UpstreamError
from core.request import Request, Route

LAST_WORDS = 5.0
"""Seconds that the counts may take after the finish_reason; some servers then neither say [DONE] nor close.

It is less where the backend's `read_timeout` is: the client has its whole answer, and silence is no fault any more.
"""

READING = 10.0
"""Seconds that a count waits for the texts of its documents."""

DRAIN = 0.25
"""Seconds that a finished answer may take to end its connection's turn, so that the connection can be kept."""


@attrs.frozen(eq=False)
class Call:
    """An upstream call, not yet begun: a value until it is entered, so that a wrapper can change it by `attrs.evolve`.

    A request whose task is to count tokens asks the engine's tokenizer instead, and gives one chunk of `usage`.
    `stream` None leaves it to the backend's table and else to the client's own choice; `url` replaces the backend's;
    `problem` finds the errors that the engine tells in its own way. Entering sends the request and raises UpstreamError
    when it is refused, or RequestError for what the dialect cannot say; it gives an async iterator of lists of chunks,
    one list per network read. A subclass that wants to send more than once overrides `begin`; what copies of the call
    begin in there (`Call.begin(attrs.evolve(self, …))`) ends with the call that was entered.
    """

    request: Request
    route: Route
    client: UpstreamClient
    dialect: Dialect = attrs.field(factory=Dialect)
    stream: bool | None = None
    url: str = ""
    problem: Problems | None = None
    _owner: AsyncExitStack | None = attrs.field(default=None, alias="_owner", kw_only=True, repr=False)
    _own: AsyncExitStack = attrs.field(init=False, repr=False, factory=AsyncExitStack)

    @property
    def _stack(self) -> AsyncExitStack:
        """Where what is opened is registered: at the call that was entered, of which this one may be a copy."""
        return self._own if self._owner is None else self._owner

    def body(self) -> dict[str, Any]:
        """The request's JSON body; of a call that is `ready` when the request holds PDFs."""
        backend = self.client.backend
        dialect = self.client.dialect(self.dialect)
        return chat_body(
            self.request,
            candidate=self.route.candidates[0],
            dialect=dialect,
            stream=self._streams(),
            extra=backend.extra_body,
        )

    async def ready(self) -> Self:
        """This call with its PDFs read where their text is sent. Raises GatewayError for one that cannot be."""
        request = await with_document_texts(self.request, self.client.dialect(self.dialect), self.client.documents)
        return self if request is self.request else attrs.evolve(self, request=request)

    async def __aenter__(self) -> AsyncIterator[list[Chunk]]:
        if self.request.task == "count_tokens":
            return self._owned(_once(await self._count()))
        try:
            return await attrs.evolve(await self.ready(), _owner=self._own).begin()
        except BaseException:
            await self._close()  # of several tries in `begin` one may be open: nobody leaves what was never entered
            raise

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        """Send the request; the chunks of its answer."""
        return self._owned(await self._chunks())

    def _owned(self, chunks: AsyncGenerator[list[Chunk]]) -> AsyncIterator[list[Chunk]]:
        self._stack.push_async_callback(chunks.aclose)
        return chunks

    async def _count(self) -> Chunk:
        way = self.client.dialect(self.dialect).count
        call = self
        if way:
            # A count never fails, and is wanted soon: without its texts the prompt is estimated.
            with suppress(GatewayError), anyio.move_on_after(READING):
                call = await self.ready()
        tokens = await count_prompt(call.request, self.client, way=way, body=call.body, url=self.url)
        return {"usage": {"prompt_tokens": tokens}}

    async def _chunks(self) -> AsyncGenerator[list[Chunk]]:
        try:
            data = dumps(self.body())
        except ValueError as error:
            raise RequestError(f"the request cannot be sent on as JSON: {error}") from error
        response = await self.client.post(data, self.url, self.problem)
        reader = ChunkReader(self.client.hidden(self.url), self.problem, response.headers)
        reads = aiter(response.aiter_bytes() if "content-encoding" in response.headers else _stream(response))
        self._stack.push_async_callback(_close, response, reads, reader)
        last_words = min(LAST_WORDS, self.client.backend.read_timeout / 2)
        return _chunks(reads, reader, restorer(self.request, self.client.dialect(self.dialect)), last_words)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        # Closing must happen when the client has left, too: that is what tells the engine to stop.
        with anyio.CancelScope(shield=True):
            await self._own.aclose()

    def _streams(self) -> bool:
        wanted = self.client.backend.stream
        if wanted != "auto":
            return wanted == "always"
        return self.request.stream if self.stream is None else self.stream


def _stream(response: httpx.Response) -> httpx.AsyncByteStream:
    stream = response.stream
    if not isinstance(stream, httpx.AsyncByteStream):
        raise UpstreamError("the transport gave no byte stream")
    return stream


async def _once(chunk: Chunk) -> AsyncGenerator[list[Chunk]]:
    yield [chunk]


async def _chunks(
    reads: AsyncIterator[bytes], reader: ChunkReader, names: Mapping[str, str], last_words: float
) -> AsyncGenerator[list[Chunk]]:
    """The chunks of each read, with the client's names of its tools in the place of the engine's (`names`)."""
    broken: Exception | None = None
    pace, end = Pace(), math.inf
    try:
        while (data := await _next(reads, end)) is not None:
            await pace.step()
            chunks = reader.feed(data)
            restore_names(chunks, names)
            if chunks:
                yield chunks
            if reader.error is not None:
                raise reader.error
            if reader.done:
                return
            if reader.finished:
                end = min(end, anyio.current_time() + last_words)
    except NETWORK_ERRORS as error:
        broken = error
    chunks = reader.flush()
    restore_names(chunks, names)
    if chunks:
        yield chunks
    # After the finish_reason only counts can be missing: the client has its whole answer.
    if broken is not None and not reader.finished:
        raise network_error(broken) from broken
    if reader.error is not None:
        raise reader.error


async def _next(reads: AsyncIterator[bytes], end: float) -> bytes | None:
    """The next read; None when there is none, or none before `end`: some servers then go silent, or never do."""
    if end == math.inf:
        return await anext(reads, None)
    if anyio.current_time() < end:
        with anyio.CancelScope(deadline=end):
            return await anext(reads, None)
    return None


async def _close(response: httpx.Response, reads: AsyncIterator[bytes], reader: ChunkReader) -> None:
    """End the response. After a whole answer the last bytes are read first, or the connection could not be kept."""
    with suppress(*NETWORK_ERRORS):
        if reader.done:
            with anyio.move_on_after(DRAIN):
                async for _ in reads:
                    pass
        if isinstance(reads, AsyncGenerator):
            await reads.aclose()
    with suppress(*NETWORK_ERRORS):
        await response.aclose()
