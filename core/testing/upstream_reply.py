"""`UpstreamReply`: one scripted HTTP reply, and how it is put on a connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Literal

import anyio
import attrs

from core.testing.answers import Framing, UpstreamAnswer, dump
from core.testing.sockets import Connection

JSON = "application/json"
SSE = "text/event-stream"


@attrs.frozen
class UpstreamReply:
    """One reply of a script.

    `cut` is the number of body bytes per write (0: all at once). Only the first `stop_after` bytes of the body are
    sent, then comes the `end`: "ok"; "close", without the last chunk; "reset" (RST). `hold_head` is waited for before
    the status line, `hold` after `hold_at` bytes of the body (None: after all of them, before the end). `chunked`
    False sends a content-length instead.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    content_type: str = JSON
    cut: int = 0
    stop_after: int | None = None
    end: Literal["ok", "close", "reset"] = "ok"
    hold_head: anyio.Event | None = None
    hold: anyio.Event | None = None
    hold_at: int | None = None
    chunked: bool = True

    @classmethod
    def json(cls, value: Any, **fields: Any) -> UpstreamReply:
        """A JSON body made of a value."""
        return cls(dump(value).encode(), **fields)

    @classmethod
    def sse(cls, items: Iterable[Any], *, framing: Framing | None = None, **fields: Any) -> UpstreamReply:
        """A stream of events: strings go out as data as they are, everything else as JSON."""
        return cls((framing or Framing()).stream(items), **{"content_type": SSE, **fields})

    @classmethod
    def answer(cls, answer: UpstreamAnswer, *, stream: bool, **fields: Any) -> UpstreamReply:
        """An answer in one of its two forms."""
        return cls(answer.wire(stream=stream), **{"content_type": SSE if stream else JSON, **fields})


async def send_reply(connection: Connection, reply: UpstreamReply, *, head_only: bool = False) -> bool:
    """Send a reply; whether the connection may serve another one. Raises ConnectionError when the peer is gone."""
    await _wait(reply.hold_head)
    await connection.send(_head(reply))
    if head_only:
        return True
    for piece in _pieces(reply, 0, reply.hold_at):
        await connection.send(piece)
    await _wait(reply.hold)
    if reply.hold_at is not None:
        for piece in _pieces(reply, reply.hold_at, None):
            await connection.send(piece)
    if reply.end == "reset":
        connection.reset()
    elif reply.end == "ok" and reply.chunked:
        await connection.send(b"0\r\n\r\n")
    return reply.end == "ok" and (reply.chunked or reply.stop_after is None)


async def _wait(event: anyio.Event | None) -> None:
    if event is not None:
        await event.wait()


def _head(reply: UpstreamReply) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unnamed"
    length = {"transfer-encoding": "chunked"} if reply.chunked else {"content-length": str(len(reply.body))}
    headers = {"content-type": reply.content_type, **length, **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _pieces(reply: UpstreamReply, start: int, end: int | None) -> Iterator[bytes]:
    body = reply.body[: reply.stop_after][start:end]
    size = reply.cut or len(body) or 1
    for at in range(0, len(body), size):
        piece = body[at : at + size]
        yield b"%x\r\n%b\r\n" % (len(piece), piece) if reply.chunked else piece
