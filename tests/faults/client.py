"""A client on a raw socket."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any, Self

import attrs

from tests.faults.reader import Answer, read_answer

KEY = "sk-client-0815-secret"
"""What a client sends as its key."""
STOP = "ST0P"
"""A stop sequence of every request: the beginning of it at the end of a text is held by the gateway."""


def body_of(model: str, *, stream: bool, **more: Any) -> bytes:
    """The JSON of a request."""
    value = {"model": model, "max_tokens": 50, "stream": stream, "stop_sequences": [STOP]}
    return json.dumps({**value, "messages": [{"role": "user", "content": "hi"}], **more}).encode()


def head_of(length: int, path: str = "/v1/messages", *more: str, key: str = KEY) -> bytes:
    """The head of a POST."""
    lines = [f"POST {path} HTTP/1.1", "host: gateway", f"x-api-key: {key}", *more]
    return "\r\n".join([*lines, f"content-length: {length}", "", ""]).encode()


@attrs.define(eq=False)
class Client:
    """One connection to the gateway, as an async context manager; it ends with a reset."""

    port: int
    buffer: int = 0
    """Bytes that the kernel may keep for this client; 0: its own choice."""
    reader: asyncio.StreamReader = attrs.field(init=False)
    writer: asyncio.StreamWriter = attrs.field(init=False)

    async def __aenter__(self) -> Self:
        sock = socket.socket()
        sock.setblocking(False)
        if self.buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.buffer)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        self.reader, self.writer = await asyncio.open_connection(sock=sock, limit=self.buffer or 1 << 26)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Reset the connection."""
        sock = self.writer.get_extra_info("socket")
        if not self.writer.transport.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def ask(self, model: str, *headers: str, stream: bool, key: str = KEY, **more: Any) -> None:
        """Send a request."""
        body = body_of(model, stream=stream, **more)
        await self.send(head_of(len(body), "/v1/messages", *headers, key=key) + body)

    async def answer(self, seconds: float = 30) -> Answer:
        """The next whole answer. Raises BrokenAnswerError, or TimeoutError when it hangs."""
        async with asyncio.timeout(seconds):
            return await read_answer(self.reader)

    async def until(self, part: bytes, seconds: float = 10) -> bytes:
        """What comes until these bytes are there."""
        seen = b""
        async with asyncio.timeout(seconds):
            while part not in seen:
                data = await self.reader.read(65536)
                assert data, f"ended without {part!r}: {seen!r}"
                seen += data
        return seen
