"""HTTP/1 of one connection, in the place of Hypercorn's: one request after the other, each a task of its own.

Hypercorn 0.18; its arguments and its events, so that it stands beside Hypercorn's HTTP/2.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote

from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.typing import AppWrapper, ConnectionState, TaskGroup, WorkerContext

from core.door import GONE
from core.serve.answers import Headers, refusal
from core.serve.exchange import HELD, Exchange
from core.serve.heads import Head, RefusedError
from core.serve.requests import Requests
from core.serve.writer import Writer

_BUSY: Final = Updated(idle=False)
_IDLE: Final = Updated(idle=True)
_RESET: Final = struct.pack("ii", 1, 0)


class HTTP1:
    """`handle` takes what the client sends, and the news that it has left; it returns when more may be read.

    Raises H2ProtocolAssumedError when the connection begins as HTTP/2. Answers go straight to the `writer`; what else
    the connection must know goes to `send`, as events.
    """

    def __init__(  # noqa: PLR0917  Hypercorn's order
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        task_group: TaskGroup,
        connection_state: ConnectionState,
        ssl: bool,
        client: tuple[str, int] | None,
        server: tuple[str, int] | None,
        send: Callable[[Event], Awaitable[None]],
        *,
        writer: Writer,
    ) -> None:
        self._app = app
        self._config = config
        self._context = context
        self._task_group = task_group
        self._state = connection_state
        self._ends = (client, server)
        self._scheme = "https" if ssl else "http"
        self._send = send
        self._writer = writer
        self._requests = Requests(config.h11_max_incomplete_size)
        self._exchange: Exchange | None = None
        self._served = 0
        self._over = self._refused = False
        self._waits: asyncio.Future[None] | None = None

    async def initiate(self) -> None:
        """Nothing: the client speaks first."""

    async def handle(self, event: Event) -> None:
        """Take bytes from the client, or the news that it has left."""
        if isinstance(event, Closed):
            self._leave()
        elif isinstance(event, RawData) and not self._over:
            self._requests.add(event.data)
            try:
                await self._advance()
            except RefusedError as refused:
                await self._refuse(refused)

    @property
    def unread(self) -> bool:
        """Whether the client has sent, or is still sending, what nobody will read."""
        requests = self._requests
        return self._refused or (requests.current and (not requests.complete or bool(requests.rest)))

    # --- what an exchange asks and tells ---

    @property
    def closing(self) -> bool:
        """Whether no other request may follow."""
        return self._served >= self._config.keep_alive_max_requests or self._context.terminated.is_set()

    @property
    def common(self) -> Headers:
        """The server's own headers of every answer."""
        return self._config.response_headers("h11")

    async def answered(self) -> None:
        """The whole answer has been written: go on with the next request, or close."""
        exchange, requests = self._exchange, self._requests
        if exchange is None or exchange.answer.close or not requests.complete or self._context.terminated.is_set():
            await self._end()
            return
        self._exchange = None
        requests.release()
        self.resume()
        await self._send(_IDLE)

    async def lost(self) -> None:
        """The client turned out to be gone."""
        self._leave()

    def resume(self) -> None:
        """Let `handle` go on that waits for room, or for an answer's end."""
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)

    # --- requests ---

    async def _advance(self) -> None:
        """Do all that can be done with the bytes that are there."""
        requests = self._requests
        while not self._over:
            if (exchange := self._exchange) is None:
                if (head := requests.next()) is None:
                    return
                exchange = await self._begin(head)
            if not requests.complete:
                piece = requests.body()
                exchange.feed(piece, requests.complete)
                if not requests.complete:
                    if exchange.held > HELD:
                        await self._wait()
                    return
            if not requests.rest:
                return
            await self._wait()

    async def _begin(self, head: Head) -> Exchange:
        await self._send(_BUSY)
        self._served += 1
        self._exchange = exchange = Exchange(head, self._writer, self)
        self._task_group.spawn(self._run, exchange, self._scope(head, exchange))
        await self._context.mark_request()
        return exchange

    def _scope(self, head: Head, exchange: Exchange) -> dict[str, Any]:
        path, _, query = head.target.partition(b"?")
        return {
            "type": "http",
            "http_version": head.version,
            "asgi": {"spec_version": "2.1", "version": "3.0"},
            "method": head.method,
            "scheme": self._scheme,
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "root_path": self._config.root_path,
            "headers": head.headers,
            "client": self._ends[0],
            "server": self._ends[1],
            "state": self._state.copy(),
            "extensions": {GONE: {"tell": exchange.when_gone}},
        }

    async def _run(self, exchange: Exchange, scope: Any) -> None:
        receive: Any = exchange.receive
        try:
            await self._app(scope, receive, exchange.send, _no_thread, _no_thread)
        except Exception:  # noqa: BLE001  whatever it is, it is this request's alone
            await self._config.log.exception("Error in ASGI Framework")
        finally:
            # An application that gave up waiting for the client to take the last piece has told nobody.
            if not exchange.gone and not exchange.over:
                await self._abandoned(exchange)

    # --- ends ---

    async def _abandoned(self, exchange: Exchange) -> None:
        """The application left its answer unfinished: the client must see that."""
        exchange.leave()
        if exchange.answer.until_closed and not self._writer.transport.is_closing():
            # An orderly end would look like the answer's own.
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._writer.transport.abort()
            self._leave()
            return
        if not exchange.answer.begun:
            self._writer.say(refusal(500, "the server failed at this request", self.common))
        await self._end()

    async def _refuse(self, refused: RefusedError) -> None:
        self._refused = True
        exchange = self._exchange
        if exchange is None or not exchange.answer.begun:
            self._writer.say(refusal(refused.status, refused.message, self.common))
        if exchange is not None:
            exchange.leave()
        await self._end()

    async def _end(self) -> None:
        self._over = True
        self.resume()
        await self._send(Closed())

    def _leave(self) -> None:
        self._over = True
        if self._exchange is not None:
            self._exchange.leave()
        self.resume()

    async def _wait(self) -> None:
        """Until there is room, the running request's answer is complete, or the client has left."""
        self._waits = asyncio.get_running_loop().create_future()
        try:
            await self._waits
        finally:
            self._waits = None


def _no_thread(*_: Any) -> Any:
    raise RuntimeError("only ASGI applications are served")
