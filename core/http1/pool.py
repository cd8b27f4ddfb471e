"""The connections of one transport."""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Mapping

import anyio
import httpx

from core.http1.connect import Origin, connect
from core.http1.connection import Connection


class Pool:
    """Gives connections and takes them back. The one used last goes first, so that the others can expire.

    `limits` are httpx's: of all connections, of idle ones, and the seconds an idle one is kept; None is no limit.
    """

    def __init__(self, tls: ssl.SSLContext | None, limits: httpx.Limits) -> None:
        self.tls = tls
        self._limits = limits
        self._idle: defaultdict[Origin, dict[Connection, None]] = defaultdict(dict)
        self._origins: dict[Connection, Origin] = {}
        self._opening = 0
        self._busy: asyncio.Semaphore | None = None
        if limits.max_connections is not None:
            self._busy = asyncio.Semaphore(limits.max_connections)

    async def take(self, origin: Origin, times: Mapping[str, float | None], *, fresh: bool = False) -> Connection:
        """A connection for one exchange, to be given back; a new one if it must be `fresh`. `times` are httpx's limits.

        Raises httpx.PoolTimeout, ConnectTimeout or ConnectError.
        """
        if self._busy is not None:
            await _acquire(self._busy, times.get("pool"))
        try:
            kept = None if fresh else self._kept(origin)
            return kept or await self._connect(origin, times.get("connect"))
        except BaseException:
            self._leave()
            raise

    def give_back(self, connection: Connection) -> None:
        """End an exchange: the connection is kept if it may be and there is room, else closed."""
        self._leave()
        room = self._limits.max_keepalive_connections
        if connection.keepable and (room is None or self._count() < room):
            self._idle[self._origins[connection]][connection] = None
            connection.keep(self._limits.keepalive_expiry)
        else:
            connection.close()

    async def aclose(self) -> None:
        """Close all connections; an exchange on one fails."""
        for connection in list(self._origins):
            connection.close()
        # The loop closes the sockets in its next turn.
        await asyncio.sleep(0)

    def _kept(self, origin: Origin) -> Connection | None:
        kept = self._idle[origin]
        while kept:
            connection, _ = kept.popitem()
            if connection.usable():
                return connection
            connection.close()
        return None

    async def _connect(self, origin: Origin, seconds: float | None) -> Connection:
        limit = self._limits.max_connections
        if limit is not None and len(self._origins) + self._opening >= limit:
            self._drop_oldest()
        self._opening += 1
        try:
            connection = await connect(origin, self.tls, seconds, self._lost)
        finally:
            self._opening -= 1
        if not connection.closed:
            self._origins[connection] = origin
        return connection

    def _drop_oldest(self) -> None:
        for kept in self._idle.values():
            for connection in kept:
                connection.close()
                return

    def _lost(self, connection: Connection) -> None:
        origin = self._origins.pop(connection, None)
        if origin is not None:
            self._idle[origin].pop(connection, None)

    def _count(self) -> int:
        return sum(map(len, self._idle.values()))

    def _leave(self) -> None:
        if self._busy is not None:
            self._busy.release()


async def _acquire(busy: asyncio.Semaphore, seconds: float | None) -> None:
    if not busy.locked():
        await busy.acquire()
        return
    try:
        with anyio.fail_after(seconds):
            await busy.acquire()
    except TimeoutError as error:
        raise httpx.PoolTimeout("no connection became free in time") from error
