"""An upstream on raw sockets that does what a script says: a script is a row of steps on one connection."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import attrs

PIECE = 64 * 1024


@attrs.define(eq=False)
class Exchange:
    """One request of the gateway's as the upstream saw it. Times are the loop's."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    port: int
    request: dict[str, Any] = attrs.field(factory=dict)
    began_at: float = 0.0
    accepted: int = 0
    """Bytes of the answer that the kernel took."""
    ended: asyncio.Event = attrs.field(factory=asyncio.Event)
    """The gateway has closed the connection, or the script has."""
    ended_at: float = 0.0
    go: asyncio.Event = attrs.field(factory=asyncio.Event)
    """What the step `wait` waits for."""

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self.writer.write(data[start : start + PIECE].replace(b"PORT5", b"%05d" % self.port))
            await self.writer.drain()
            self.accepted += len(data[start : start + PIECE])

    def end(self) -> None:
        if not self.ended.is_set():
            self.ended_at = asyncio.get_running_loop().time()
            self.ended.set()


Step = Callable[[Exchange], Awaitable[None]]
Script = tuple[Step | bytes, ...]


class EndedError(Exception):
    """The script wants nothing more of this connection."""


async def close(exchange: Exchange) -> None:
    """End the connection in order, once what was sent has gone."""
    exchange.writer.close()
    raise EndedError


async def reset(exchange: Exchange) -> None:
    """End it with a reset, once the gateway had the time to read what was sent."""
    await asyncio.sleep(0.05)
    sock = exchange.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.writer.transport.abort()
    raise EndedError


async def hang(exchange: Exchange) -> None:
    """Say nothing until the gateway leaves."""
    with suppress(OSError):
        while await exchange.reader.read(PIECE):
            pass
    raise EndedError


async def wait(exchange: Exchange) -> None:
    """Say nothing until the test says so."""
    await exchange.go.wait()


def pause(seconds: float) -> Step:
    """Say nothing for a while."""

    async def step(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)

    return step


def for_ever(data: bytes, every: float = 0.0) -> Step:
    """The same again and again until the gateway leaves; without `every` as fast as it takes it."""

    async def step(exchange: Exchange) -> None:
        gone = asyncio.ensure_future(hang(exchange))
        try:
            while not gone.done():
                await exchange.send(data)
                await asyncio.sleep(every)
        finally:
            gone.cancel()
        raise EndedError

    return step


def byte_by_byte(data: bytes) -> Step:
    """Each byte in a packet of its own."""

    async def step(exchange: Exchange) -> None:
        for byte in data:
            await exchange.send(bytes((byte,)))
            await asyncio.sleep(0)

    return step


def much(data: bytes, times: int) -> Step:
    """The same bytes many times over."""

    async def step(exchange: Exchange) -> None:
        for _ in range(times):
            await exchange.send(data)

    return step


UNKNOWN: Script = (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", close)


class Upstream:
    """Listens on one port; each request is answered by the script that `scripts` has for the model it names, up to "#".

    With `door` every connection gets that script, and its request is not read. `exchanges` has what came, by model.
    """

    def __init__(self, scripts: dict[str, Script], door: Script | None = None) -> None:
        self.port = 0
        self.connections = 0
        self.exchanges: dict[str, list[Exchange]] = defaultdict(list)
        self.scripts = scripts
        self._door = door
        self._server: asyncio.Server | None = None
        self._came = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def exchange(self, model: str, number: int = 0) -> Exchange:
        """The exchange for this model, once it is there."""
        async with asyncio.timeout(10):
            while len(self.exchanges[model]) <= number:
                await self._came.wait()
        return self.exchanges[model][number]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        # A small buffer: what the kernel holds for the gateway is no measure of what the gateway takes.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        writer.transport.set_write_buffer_limits(0)
        exchange = Exchange(reader, writer, self.port)
        try:
            while True:
                exchange = Exchange(reader, writer, self.port)
                script = self._door if self._door is not None else await self._read(exchange)
                for step in script:
                    await (exchange.send(step) if isinstance(step, bytes) else step(exchange))
        except (EndedError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            exchange.end()
            if not writer.transport.is_closing():
                writer.transport.abort()

    async def _read(self, exchange: Exchange) -> Script:
        head = await exchange.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        exchange.request = json.loads(await exchange.reader.readexactly(length))
        exchange.began_at = asyncio.get_running_loop().time()
        model = exchange.request["model"]
        self.exchanges[model].append(exchange)
        self._came.set()
        self._came = asyncio.Event()
        return self.scripts.get(model.partition("#")[0], UNKNOWN)
