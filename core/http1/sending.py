"""A request onto a connection."""

from __future__ import annotations

from typing import Final

import httpx

from core.http1.connection import Connection
from core.http1.head import RequestHead

_JOIN: Final = 64 * 1024
"""Bytes up to which a body is copied behind its head, to leave in one packet."""


def whole_body(request: httpx.Request) -> bytes | None:
    """The body of a request, if it is there as bytes: only then can the request be sent twice."""
    if isinstance(request.stream, httpx.ByteStream):
        return b"".join(request.stream)
    try:
        return request.content
    except httpx.RequestNotRead:
        return None


async def send(connection: Connection, request: httpx.Request, head: RequestHead, seconds: float | None) -> None:
    """Send a request, or as much of it as the server wants before it refuses the rest.

    `seconds` limits each write. Raises httpx.WriteTimeout, WriteError, or LocalProtocolError for a body of another
    length than declared.
    """
    connection.begin(bodyless=request.method == "HEAD")
    body = whole_body(request)
    if body is None or head.chunked:
        all_sent = await _send_stream(connection, request, head, seconds)
    else:
        all_sent = True
        if len(body) != head.length:
            raise httpx.LocalProtocolError(f"a body of {len(body)} bytes, declared as {head.length}")
        if len(body) <= _JOIN:
            connection.write(head.data + body)
        else:
            connection.write(head.data)
            connection.write(body)
        await connection.drain(seconds)
    connection.last = head.close or not all_sent


async def _send_stream(
    connection: Connection, request: httpx.Request, head: RequestHead, seconds: float | None
) -> bool:
    """Whether all was sent."""
    if not isinstance(request.stream, httpx.AsyncByteStream):
        raise TypeError("the body of the request is no asynchronous stream")
    connection.write(head.data)
    sent = 0
    async for piece in request.stream:
        await connection.drain(seconds)
        if connection.closed or connection.answer.status >= 300:
            return False
        sent += len(piece)
        if not head.chunked and sent > head.length:
            break
        if piece:
            connection.write(b"%x\r\n%b\r\n" % (len(piece), piece) if head.chunked else piece)
    if not head.chunked and sent != head.length:
        raise httpx.LocalProtocolError(f"a body of {sent} bytes or more, declared as {head.length}")
    if head.chunked:
        connection.write(b"0\r\n\r\n")
    await connection.drain(seconds)
    return True
