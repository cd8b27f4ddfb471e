"""`MockUpstream`: an upstream that serves a script over a real loopback socket (HTTP/1.1, keep-alive, chunked)."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

from core.testing.answers import UpstreamAnswer
from core.testing.exchange import Exchange, RequestReader
from core.testing.sockets import Connection, accept, listen
from core.testing.upstream_reply import UpstreamReply, send_reply

Step = UpstreamReply | UpstreamAnswer | Callable[[Exchange], UpstreamReply]
"""One step of a script. An `UpstreamAnswer` is served whole or as a stream, as the request's `stream` asks."""


class MockUpstream:
    """A scripted upstream: `async with MockUpstream(reply, …) as upstream`, or `with upstream.in_thread()`.

    Each request takes the next step of the script, whatever its path; the last step repeats. `exchanges` holds the
    requests seen, in order of arrival.
    """

    def __init__(self, *script: Step) -> None:
        self.script: tuple[Step, ...] = script or (UpstreamAnswer(),)
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self._arrived = anyio.Event()
        self._listener: socket.socket | None = None
        self._portal: BlockingPortal | None = None
        self._running: AbstractAsyncContextManager[None] | None = None

    @property
    def root(self) -> str:
        """The server's address without a path; raises RuntimeError when it is not running."""
        if self._listener is None:
            raise RuntimeError("MockUpstream is not running: enter it with `async with` or `with upstream.in_thread()`")
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        """The address as a backend's `url`."""
        return f"{self.root}/v1"

    @property
    def portal(self) -> BlockingPortal:
        """In thread mode, the way to the server's event loop: `upstream.portal.call(event.set)`."""
        if self._portal is None:
            raise RuntimeError("only `with upstream.in_thread()` has a portal")
        return self._portal

    async def exchange(self, number: int = 0) -> Exchange:
        """The request of that number (from 0), waiting until it has arrived."""
        while len(self.exchanges) <= number:
            await self._arrived.wait()
        return self.exchanges[number]

    async def __aenter__(self) -> Self:
        self._running = self._run()
        await self._running.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._running is None:
            return None
        return await self._running.__aexit__(kind, error, trace)

    @contextmanager
    def in_thread(self) -> Iterator[Self]:
        """Serve from an event loop in a thread of its own, for tests that are not async."""
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(self):
            self._portal = portal
            try:
                yield self
            finally:
                self._portal = None

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[None]:
        with listen() as listener:
            self._listener = listener
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._accept, listener, tasks)
                    yield
                    tasks.cancel_scope.cancel()
            finally:
                self._listener = None

    async def _accept(self, listener: socket.socket, tasks: TaskGroup) -> None:
        while True:
            connection = await accept(listener)
            self.connections += 1
            tasks.start_soon(self._serve, connection)

    async def _serve(self, connection: Connection) -> None:
        reader = RequestReader(connection)
        try:
            while (exchange := await reader.next()) is not None:
                if not await self._answer(connection, reader, exchange):
                    break
        finally:
            connection.close()

    async def _answer(self, connection: Connection, reader: RequestReader, exchange: Exchange) -> bool:
        """Serve one exchange, watching for the peer to close; whether the connection goes on."""
        reply = self._next_reply(exchange)
        goes_on = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, reader, exchange, tasks)
            try:
                goes_on = await send_reply(connection, reply, head_only=exchange.method == "HEAD")
                exchange.end("served")
            except ConnectionError:
                exchange.end("closed")
            tasks.cancel_scope.cancel()
        return goes_on and exchange.headers.get("connection", "").lower() != "close"

    def _next_reply(self, exchange: Exchange) -> UpstreamReply:
        step = self.script[min(len(self.exchanges), len(self.script) - 1)]
        self.exchanges.append(exchange)
        self._arrived.set()
        self._arrived = anyio.Event()
        if isinstance(step, UpstreamReply):
            return step
        if isinstance(step, UpstreamAnswer):
            return UpstreamReply.answer(step, stream=bool(exchange.json.get("stream")))
        return step(exchange)


async def _watch(reader: RequestReader, exchange: Exchange, tasks: TaskGroup) -> None:
    await reader.closed()
    exchange.end("closed")
    tasks.cancel_scope.cancel()
