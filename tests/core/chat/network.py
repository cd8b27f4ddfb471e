"""What the tests of client and call share: a client of a scripted upstream, and a server of raw bytes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from core.chat import Call, Chunk, UpstreamClient, the_choice, the_delta
from core.config import BackendConfig
from core.request import Message, Request, TextBlock
from core.route import Candidate, Route

HI = Request("message", model="claude", messages=(Message("user", (TextBlock("hi"),)),))
ROUTE = Route((Candidate("up", "upstream-model"),))

Script = Callable[[int, int], bytes | None]
"""Number of the connection and of the request on it, from 0, to the bytes of the answer; None: hang up."""


@asynccontextmanager
async def client_of(url: str, **fields: Any) -> AsyncIterator[UpstreamClient]:
    """A client of the backend at that URL, closed at the end."""
    client = UpstreamClient(BackendConfig("up", ("openai",), url=url, **fields))
    try:
        yield client
    finally:
        await client.aclose()


async def answer(client: UpstreamClient, **fields: Any) -> list[Chunk]:
    """All chunks of one whole call."""
    async with Call(HI, ROUTE, client, **fields) as batches:
        return [chunk async for batch in batches for chunk in batch]


def text(chunks: list[Chunk]) -> str:
    """The text of the chunks."""
    return "".join(the_delta(the_choice(chunk)).get("content") or "" for chunk in chunks)


@asynccontextmanager
async def raw_upstream(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server of raw bytes; its URL."""
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(connections)
        connections.append(writer)
        request = 0
        try:
            while await _read_request(reader):
                reply = script(number, request)
                if reply is None:
                    break
                writer.write(reply)
                await writer.drain()
                if b"connection: close" in reply:
                    break
                request += 1
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        scheme = "https" if tls else "http"
        yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in connections:
            writer.transport.abort()
        await server.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> bool:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    return True


def http(body: bytes, *headers: str, status: str = "200 OK", length: bool = True) -> bytes:
    """The bytes of one answer."""
    lines = [f"HTTP/1.1 {status}", *headers, *([f"content-length: {len(body)}"] if length else [])]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
