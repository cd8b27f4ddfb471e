"""A reception in the test's own event loop, and clients that speak to it byte by byte."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import attrs
import h2.connection
import h2.events
from hypercorn.app_wrappers import ASGIWrapper

from core.serve.reception import Reception
from core.serve.settings import ServerOptions, protocol_config
from tests.core.serve.hello import Hello

WITHIN = 5.0
"""Seconds after which a test that waits has failed."""


@attrs.frozen
class Served:
    """A running reception."""

    app: Hello
    reception: Reception
    port: int

    async def connect(self, **options: int) -> Client:
        """A new connection; socket options by name."""
        sock = socket.socket()
        for name, value in options.items():
            sock.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        except OSError:
            sock.close()
            raise
        return Client(sock)

    async def ask(self, data: bytes) -> bytes:
        """What comes back for these bytes on a connection of their own, until the server closes it."""
        client = await self.connect()
        await client.send(data)
        return await client.rest()


class Client:
    """A raw connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.socket, data)

    async def receive(self) -> bytes:
        """The next bytes; b"" when the server has closed the connection or reset it."""
        async with asyncio.timeout(WITHIN):
            try:
                return await self._loop.sock_recv(self.socket, 65536)
            except ConnectionError:
                return b""

    async def until(self, end: bytes) -> bytes:
        """The bytes up to these, which must come."""
        seen = b""
        while end not in seen:
            data = await self.receive()
            assert data, seen
            seen += data
        return seen

    async def rest(self) -> bytes:
        """All bytes to the end of the connection."""
        seen = b""
        while data := await self.receive():
            seen += data
        self.socket.close()
        return seen


class HTTP2:
    """A client that begins with HTTP/2."""

    HEADERS = ((":method", "POST"), (":path", "/x"), (":authority", "h"), (":scheme", "http"))

    def __init__(self, client: Client) -> None:
        self.client = client
        self.connection = h2.connection.H2Connection()
        self.connection.initiate_connection()

    def begin(self, path: str = "/x", *, end: bool = True) -> int:
        """A request, kept until `flush`; its stream."""
        stream = self.connection.get_next_available_stream_id()
        headers = [(name, path if name == ":path" else value) for name, value in self.HEADERS]
        self.connection.send_headers(stream, headers, end_stream=end)
        return stream

    async def flush(self) -> None:
        await self.client.send(self.connection.data_to_send())

    async def event(self, kind: type[h2.events.Event], stream: int | None = None) -> h2.events.Event:
        """The next event of this kind, of that stream; the connection must not end before it."""
        while True:
            data = await self.client.receive()
            assert data, f"closed before {kind.__name__}"
            events = self.connection.receive_data(data)
            await self.flush()
            for event in events:
                if isinstance(event, kind) and stream in {None, getattr(event, "stream_id", None)}:
                    return event


@asynccontextmanager
async def serving(options: ServerOptions | None = None, stall: float = 65.0) -> AsyncIterator[Served]:
    """`Hello` on a free port."""
    options = options or ServerOptions()
    app = Hello()
    listener = socket.create_server(("127.0.0.1", 0))
    reception = Reception(ASGIWrapper(app), protocol_config(options), [listener], {}, stall)
    port = listener.getsockname()[1]
    reception.open()
    try:
        yield Served(app, reception, port)
    finally:
        await reception.drain(0)


async def true(what: Callable[[], bool]) -> None:
    """Wait until it is."""
    async with asyncio.timeout(WITHIN):
        while not what():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0)


def request(path: str = "/x", body: bytes = b"", *more: bytes, method: bytes = b"POST") -> bytes:
    """A request as bytes, with these header lines."""
    lines = [method + b" " + path.encode() + b" HTTP/1.1", b"host: h", b"content-length: %d" % len(body), *more]
    return b"\r\n".join([*lines, b"", body])


CLOSE = b"connection: close"
