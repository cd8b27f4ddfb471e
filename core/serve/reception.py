"""A worker's connections: taken one by one, and brought to an end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Final

import structlog
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.typing import AppWrapper, LifespanState

from core.serve.connection import Connection

REST: Final = 1.0
"""Seconds without new connections after the system had no more files for one."""
LAST: Final = 0.5
"""Seconds for what is left of the requests once their connections are cut, and again once they are cancelled."""


class Reception:
    """Accepts connections on the sockets and serves them."""

    def __init__(
        self, app: AppWrapper, config: Config, sockets: Sequence[socket.socket], state: LifespanState, stall: float
    ) -> None:
        self._app = app
        self._config = config
        self._sockets = sockets
        self._state = state
        self._stall = stall
        self._context = WorkerContext(None)
        self._loop = asyncio.get_running_loop()
        self._running: dict[asyncio.Task[None], Connection] = {}

    @property
    def connections(self) -> list[Connection]:
        """Those that are there."""
        return list(self._running.values())

    def open(self) -> None:
        """Listen and accept."""
        for sock in self._sockets:
            sock.setblocking(False)
            sock.listen(self._config.backlog)
            self._loop.add_reader(sock, self._accept, sock)

    def close(self) -> None:
        """Accept no more; what waits in the queue is left to the other workers, or refused with the last of them."""
        for sock in self._sockets:
            if sock.fileno() >= 0:
                self._loop.remove_reader(sock)
                sock.close()

    async def drain(self, limit: float) -> None:
        """Close what is idle, let what runs end within these seconds, and cut the rest."""
        self.close()
        self._config.keep_alive_max_requests = 0  # every answer that begins now says `connection: close`
        await self._context.terminated.set()
        for connection in self.connections:
            connection.end_if_idle()
        await self._wait(limit)
        for connection in self.connections:
            connection.abort()
        await self._wait(LAST)
        for task in self._running:
            task.cancel()
        await self._wait(LAST)

    async def _wait(self, seconds: float) -> None:
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    def _accept(self, sock: socket.socket) -> None:
        # One at a time: a worker that took all that wait would leave none to the others.
        try:
            accepted, _ = sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            structlog.get_logger().error("no connection can be taken", why=str(error))
            self._loop.remove_reader(sock)
            self._loop.call_later(REST, self._resume, sock)
            return
        accepted.setblocking(False)
        connection = Connection(self._app, self._config, self._context, self._state)
        task = self._loop.create_task(connection.serve(accepted, self._stall))
        self._running[task] = connection
        task.add_done_callback(self._running.pop)

    def _resume(self, sock: socket.socket) -> None:
        if sock.fileno() >= 0:
            self._loop.add_reader(sock, self._accept, sock)
