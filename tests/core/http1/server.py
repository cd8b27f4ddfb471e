"""A scripted server of raw bytes, and one way to ask it."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import attrs
import httpx

LOST = (OSError, asyncio.IncompleteReadError)


@attrs.define(eq=False)
class Peer:
    """The server's end of one connection."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def head(self) -> bytes:
        """The next request's head; IncompleteReadError when the client closed."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def request(self) -> bytes:
        """The next request as a whole."""
        head = await self.head()
        lines = head.lower().split(b"\r\n")
        length = sum(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
        body = await self.reader.readexactly(length)
        if b"transfer-encoding: chunked" in lines:
            body += await self.reader.readuntil(b"0\r\n\r\n")
        return head + body

    async def send(self, *pieces: bytes) -> None:
        """Send pieces, each of which the client may read alone."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def gone(self) -> None:
        """Wait until the client closes."""
        with suppress(*LOST):
            while await self.reader.read(65536):
                pass

    def hang_up(self) -> None:
        """End both ways at once, without the loop: what comes from now on is answered by a reset."""
        with socket.socket(fileno=os.dup(self.writer.get_extra_info("socket").fileno())) as sock:
            sock.shutdown(socket.SHUT_RDWR)

    def reset(self) -> None:
        """Close with RST."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Handler = Callable[[Peer], Awaitable[None]]


@attrs.define(eq=False)
class Server:
    """A running server."""

    url: str
    peers: list[Peer] = attrs.field(factory=list)


@asynccontextmanager
async def serving(handle: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server that runs `handle` for each connection, and then closes it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(len(server.peers), reader, writer)
        server.peers.append(peer)
        if (task := asyncio.current_task()) is not None:
            tasks.append(task)
        try:
            # Streams report a cancelled handler as an error.
            with suppress(*LOST, asyncio.CancelledError):
                await handle(peer)
        finally:
            writer.close()

    tasks: list[asyncio.Task[Any]] = []
    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    scheme = "https" if tls else "http"
    server = Server(f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}/")
    try:
        yield server
    finally:
        listener.close()
        for peer in server.peers:
            peer.writer.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
        await listener.wait_closed()


def always(*pieces: bytes) -> Handler:
    """Every request gets the same answer."""

    async def handle(peer: Peer) -> None:
        while await peer.request():
            await peer.send(*pieces)

    return handle


def ok(body: bytes, *headers: bytes) -> bytes:
    """A good answer."""
    lines = [b"HTTP/1.1 200 OK", *headers, b"content-length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def post(url: str, content: bytes | AsyncIterator[bytes] = b"{}", **times: float) -> httpx.Request:
    """A request with limits of time."""
    return httpx.Request("POST", url, content=content, extensions={"timeout": times})


async def fetch(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> bytes:
    """The body of an answer, raw."""
    response = await transport.handle_async_request(request)
    try:
        return b"".join([piece async for piece in response.aiter_raw()])
    finally:
        await response.aclose()
