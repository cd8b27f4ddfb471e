"""One client's connection: Hypercorn's, with an end for every way in which a client can leave it hanging."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import structlog
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.tcp_server import MAX_RECV, TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.typing import AppWrapper, ConnectionState, LifespanState
from hypercorn.utils import parse_socket_addr

from core.alarm import Alarm
from core.serve.protocols import Protocols
from core.serve.sockets import cut_stalled
from core.serve.writer import Writer

LINGER: Final = 5.0
"""Seconds that a request may go on after its client has left."""
TAIL: Final = 2.0
"""Seconds for a client to see that it has its answer, and to stop sending the rest of a request that was refused."""


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
        # In the place of Hypercorn's `idle_task`, which is never started.
        self._clock = Alarm(loop, self._expire)
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
        self._wire.writer = self.writer
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
            self.loop.call_soon(self._forget)  # after the transport has said its last word

    def _forget(self) -> None:
        """Let go of what holds this connection: one that lived long would wait for the collector's rarest round."""
        self._wire.forget()
        for name in ("protocol", "writer", "reader", "_clock", "_task", "_task_group"):
            self.__dict__.pop(name, None)

    async def run(self) -> None:
        """As Hypercorn's, but with our protocols."""
        sock = self.writer.get_extra_info("socket")
        try:
            ends = (parse_socket_addr(sock.family, name) for name in (sock.getpeername(), sock.getsockname()))
            async with TaskGroup(self.loop) as group:
                self._task_group = group
                state = ConnectionState(self.state)
                parts = (self.context, group, state, False, *ends, self.protocol_send)
                self.protocol = Protocols(self.app, self.config, *parts, writer=self.writer)
                await self.protocol.initiate()
                self._idle()
                try:
                    await self._read_data()
                finally:
                    self._over = True
                    self._clock.stop()
        finally:
            await self._close()

    async def protocol_send(self, event: Event) -> None:
        """Carry out what the protocol wants."""
        if isinstance(event, RawData):
            await self._send(event.data)
            if not self._idle_begun and self.protocol.idle_http2:
                # The preface of HTTP/2 counts as a request does, and without one nothing else would set the clock.
                self._idle_begun = True
                self._idle()
        elif isinstance(event, Updated):
            if event.idle:
                self._idle()
            else:
                self._clock.clear()
        else:
            await super().protocol_send(event)

    def end_if_idle(self) -> None:
        """The server drains: what has no request is closed now."""
        if self._clock.is_set:
            self._clock.stop()
            self._expire()

    def abort(self) -> None:
        """Cut the connection; what the client has not taken is lost."""
        # asyncio's transport fails at it when it was closed and its last bytes went later.
        if self.writer is not None and not self._wire.lost:
            self.writer.transport.abort()

    async def _close(self) -> None:
        if hasattr(self, "protocol") and self.protocol.unread:
            # A socket that is closed with bytes unread is reset, and a reset can take the answer from the client.
            self._wire.deaf = True
            with suppress(OSError, RuntimeError, TimeoutError):
                self.writer.write_eof()
                self.writer.transport.resume_reading()  # type: ignore[attr-defined]  # a transport of a socket
                async with asyncio.timeout(TAIL):
                    await self._wire.over.wait()
        with suppress(OSError):  # it is closed already, and the client's end was no orderly one
            if not self._wire.lost and not self.writer.transport.is_closing():
                cut_stalled(self.writer.get_extra_info("socket"), self.writer.stall)
            await super()._close()

    async def _read_data(self) -> None:
        while not self.reader.at_eof():
            try:
                data = await self.reader.read(MAX_RECV)
            except OSError:
                break
            await self.protocol.handle(RawData(data))
        await self.protocol.handle(Closed())

    async def _send(self, data: bytes) -> None:
        async with self.send_lock:
            try:
                self.writer.write(data)
                await self.writer.drain()
            except (ConnectionError, RuntimeError):
                await self.protocol.handle(Closed())

    def _idle(self) -> None:
        if self._over:
            return
        if self.context.terminated.is_set():
            self._expire()
        else:
            self._clock.set(self.config.keep_alive_timeout)

    def _expire(self) -> None:
        self._task_group.spawn(self._initiate_server_close)

    def _ended(self) -> None:
        """The client has left; a half-closed connection counts as left, as it does for Hypercorn."""
        if self._lingers is None and self._task is not None and not self._task.done():
            self._lingers = self.loop.call_later(LINGER, self._task.cancel)
        if hasattr(self, "protocol"):
            self._telling = self.loop.create_task(self._tell())

    async def _tell(self) -> None:
        # Nothing is read while a second request waits behind the first: it would not see the client leave.
        if hasattr(self, "protocol"):
            await self.protocol.handle(Closed())


class _Wire(asyncio.StreamReaderProtocol):
    """Tells when the client has gone; what comes while it is `deaf` is dropped."""

    def __init__(self, reader: asyncio.StreamReader, ended: Callable[[], None]) -> None:
        super().__init__(reader)
        self.deaf = False
        self.lost = False
        """Whether the transport has closed the connection."""
        self.over = asyncio.Event()
        self.writer: Writer | None = None
        self._tell = ended

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.writer is not None:
            self.writer.full = True

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.writer is not None:
            self.writer.full = False

    def forget(self) -> None:
        """Tell nobody any more."""
        self._tell = _nothing
        self.writer = None

    def data_received(self, data: bytes) -> None:
        if not self.deaf:
            super().data_received(data)

    def eof_received(self) -> bool | None:
        self.over.set()
        self._tell()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.over.set()
        self._tell()
        super().connection_lost(exc)


def _nothing() -> None:
    """In the place of who is gone."""
