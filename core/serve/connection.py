"""One client's connection: Hypercorn's, with an end for every way in which a client can leave it hanging."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.typing import AppWrapper, ConnectionState, LifespanState
from hypercorn.utils import parse_socket_addr

from core.serve.protocols import Protocols

LINGER: Final = 5.0
"""Seconds that a request may go on after its client has left."""


class Writer(asyncio.StreamWriter):
    """A writer that aborts the connection when the client takes nothing for `stall` seconds."""

    stall: float

    async def drain(self) -> None:
        """Wait until there is room. Raises ConnectionError when the client stalls or is gone."""
        if self.transport.get_write_buffer_size() == 0:
            await super().drain()
        else:
            await self._moving(super().drain)

    async def wait_closed(self) -> None:
        """Wait until the client has taken the last byte, or stalls."""
        await self._moving(super().wait_closed)

    async def _moving(self, wait: Callable[[], Coroutine[None, None, None]]) -> None:
        while True:
            before = self.transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(self.stall):
                    return await wait()
            except TimeoutError:
                if self.transport.get_write_buffer_size() >= before:
                    self.transport.abort()
                    raise ConnectionAbortedError("the client takes nothing") from None


class Connection(TCPServer):
    """One connection; `run` returns when it is over, and never raises but when it is cancelled."""

    writer: Writer
    protocol: Protocols

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        state: LifespanState,
    ) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        self._wire = _Wire(reader, self._ended)
        self._idle_begun = self._over = False
        self._task: asyncio.Task[Any] | None = None
        self._lingers: asyncio.TimerHandle | None = None
        super().__init__(app, loop, config, context, state, reader, None)  # type: ignore[arg-type]  # set by `serve`

    async def serve(self, accepted: socket.socket, stall: float) -> None:
        """Serve this socket to its end."""
        self._task = asyncio.current_task()
        try:
            transport, _ = await self.loop.connect_accepted_socket(lambda: self._wire, accepted)
        except BaseException:
            accepted.close()
            raise
        self.writer = Writer(transport, self._wire, self.reader, self.loop)
        self.writer.stall = stall
        try:
            await self.run()
        except OSError:
            pass  # the client is gone
        except Exception as error:  # noqa: BLE001  whatever it is, it is this connection's alone
            structlog.get_logger().error("a connection failed", why=str(error), exc_info=error)
        finally:
            self.abort()
            if self._lingers is not None:
                self._lingers.cancel()

    async def run(self) -> None:
        """As Hypercorn's, but with our protocols."""
        sock = self.writer.get_extra_info("socket")
        try:
            ends = (parse_socket_addr(sock.family, name) for name in (sock.getpeername(), sock.getsockname()))
            async with TaskGroup(self.loop) as group:
                self._task_group = group
                state = ConnectionState(self.state)
                parts = (self.app, self.config, self.context, group, state, False, *ends, self.protocol_send)
                self.protocol = Protocols(*parts)
                await self.protocol.initiate()
                await self.idle_task.restart(group, self._idle_timeout)
                await self._read_data()
                # Hypercorn would keep the closed connection, and its file, for as long as an idle one.
                self._over = True
                await self.idle_task.stop()
        finally:
            await self._close()

    async def protocol_send(self, event: Event) -> None:
        """Carry out what the protocol wants."""
        if self._over and isinstance(event, Updated):
            return
        await super().protocol_send(event)
        if isinstance(event, RawData) and not self._idle_begun and self.protocol.idle_http2:
            # The preface of HTTP/2 stops Hypercorn's clock as a request does, and without one it never runs again.
            self._idle_begun = True
            await self.idle_task.restart(self._task_group, self._idle_timeout)

    def abort(self) -> None:
        """Cut the connection; what the client has not taken is lost."""
        if self.writer is not None:
            self.writer.transport.abort()

    def _ended(self) -> None:
        """The client has left; a half-closed connection counts as left, as it does for Hypercorn."""
        if self._lingers is None and self._task is not None and not self._task.done():
            self._lingers = self.loop.call_later(LINGER, self._task.cancel)
        if hasattr(self, "protocol"):
            self._telling = self.loop.create_task(self._tell())

    async def _tell(self) -> None:
        # Hypercorn does not read while a second request waits behind the first: it would not see the client leave.
        await self.protocol.handle(Closed())


class _Wire(asyncio.StreamReaderProtocol):
    """Tells when the client has gone."""

    def __init__(self, reader: asyncio.StreamReader, ended: Callable[[], None]) -> None:
        super().__init__(reader)
        self._tell = ended

    def eof_received(self) -> bool | None:
        self._tell()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._tell()
        super().connection_lost(exc)
