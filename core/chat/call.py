"""The upstream call: one request to a chat-completions server, its chunks, and its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import anyio
import attrs

from core.chat.answer import UpstreamChunks
from core.chat.body import chat_body
from core.chat.chunks import ChunkReader, Usual
from core.chat.client import UpstreamClient
from core.chat.completion import Chunk
from core.chat.counting import count_prompt
from core.chat.dialect import Dialect
from core.chat.document_texts import with_document_texts
from core.chat.names import restorer
from core.chat.opened import ClosableChunks, Opened
from core.chat.problems import Problems
from core.chat.text import dumps
from core.errors import GatewayError, RequestError
from core.request import Request
from core.route import Route

LAST_WORDS = 5.0
"""Seconds that the counts may take after the finish_reason; some servers then neither say [DONE] nor close.

It is less where the backend's `read_timeout` is: the client has its whole answer, and silence is no fault any more.
"""

READING = 10.0
"""Seconds that a count waits for the texts of its documents."""

Prepare = Callable[[Request, Dialect], Awaitable[Request]]
"""What is done to the request before the body is built, where that must wait; raises GatewayError."""


@attrs.frozen(eq=False)
class Call:
    """An upstream call, not yet begun: a value until it is entered, so that a wrapper can change it by `attrs.evolve`.

    A request whose task is to count tokens asks the engine's tokenizer instead, and gives one chunk of `usage`.
    `stream` None leaves it to the backend's table and else to the client's own choice; `url` replaces the backend's and
    gets the endpoint's path behind it as that one does, unless it ends in it already; `problem` finds the errors that
    the engine tells in its own way, `usual` makes each of its chunks the usual one before anything else looks at it.
    Entering sends the request and raises UpstreamError
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
    usual: Usual | None = None
    prepare: tuple[Prepare, ...] = ()
    _opened: Opened | None = attrs.field(default=None, alias="_opened", kw_only=True, repr=False)

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

    async def address(self) -> str:
        """Where the request goes, as `url`; "": to the backend's own. For a subclass that must wait to know it."""
        return self.url

    async def ready(self) -> Self:
        """This call, prepared, and its PDFs read where their text is sent.

        Raises GatewayError for what cannot be sent.
        """
        request, dialect = self.request, self.client.dialect(self.dialect)
        for step in self.prepare:
            request = await step(request, dialect)
        request = await with_document_texts(request, dialect, self.client.documents)
        return self if request is self.request else attrs.evolve(self, request=request)

    async def __aenter__(self) -> AsyncIterator[list[Chunk]]:
        # Copies that are made from here on (in `begin`) share it, and end with this call; those made before do not.
        opened = Opened()
        object.__setattr__(self, "_opened", opened)
        if self.request.task == "count_tokens":
            return _once(await self._count())
        try:
            return await (await self.ready()).begin()
        except BaseException:
            await opened.aclose()  # of several tries in `begin` one may be open: nobody leaves what was never entered
            raise

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        """Send the request; the chunks of its answer."""
        try:
            data = dumps(self.body())
        except ValueError as error:
            raise RequestError(f"the request cannot be sent on as JSON: {error}") from error
        names = restorer(self.request, self.client.dialect(self.dialect))
        last_words = min(LAST_WORDS, self.client.backend.read_timeout / 2)
        url = await self.address()
        response = await self.client.post(data, url, self.problem)
        reader = ChunkReader(self.client.hidden(url), self.problem, response.headers, self.usual)
        return self._owned(UpstreamChunks(response, reader, names, last_words))

    def _owned(self, chunks: ClosableChunks) -> ClosableChunks:
        """These chunks, which are closed when the call that was entered is left."""
        if self._opened is None:
            raise RuntimeError("a call begins when it is entered: async with call as chunks")
        self._opened.append(chunks)
        return chunks

    async def _count(self) -> Chunk:
        way = self.client.dialect(self.dialect).count
        call = self
        if way:
            # A count never fails, and is wanted soon: without its texts the prompt is estimated.
            with suppress(GatewayError), anyio.move_on_after(READING):
                call = await self.ready()
        url = await self.address()
        tokens = await count_prompt(call.request, self.client, way=way, body=call.body, url=url)
        return {"usage": {"prompt_tokens": tokens}}

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.aclose(broken=kind is not None)

    def _streams(self) -> bool:
        wanted = self.client.backend.stream
        if wanted != "auto":
            return wanted == "always"
        return self.request.stream if self.stream is None else self.stream


async def _once(chunk: Chunk) -> AsyncGenerator[list[Chunk]]:
    yield [chunk]
