"""An upstream in process for rules that must see the request itself, wait amid an answer, or serve several at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
import attrs
import httpx

from core.gateway import Gateway
from core.request import HTTPRequest
from core.testing.replay import REQUEST


@attrs.define(eq=False)
class Asked:
    """One request that arrived, and the answer it was given."""

    request: httpx.Request
    body: Any
    closed: bool = False


@attrs.define(eq=False)
class Upstream(httpx.AsyncBaseTransport):
    """A transport whose answers are `reply(body)`: bytes, or events to wait for among them.

    `asked` are the requests in the order of their arrival; `arrived` is called with each before it is answered.
    """

    reply: Callable[[Any], Sequence[bytes | anyio.Event]]
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    asked: list[Asked] = attrs.field(factory=list)
    hold: Callable[[], Any] | None = None
    """Awaited, when it is given, before an answer begins."""
    read: Callable[[Any], Any] = lambda body: body
    """Makes a body the usual one."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Note the request and answer."""
        data = await request.aread()
        asked = Asked(request, self.read(json.loads(data)))
        self.asked.append(asked)
        if self.hold is not None:
            await self.hold()
        pieces = self.reply(asked.body)
        start = next((piece for piece in pieces if isinstance(piece, bytes)), b"").lstrip()[:1]
        kind = "application/json" if start == b"{" else "text/event-stream"
        return httpx.Response(
            self.status, headers={"content-type": kind, **self.headers}, stream=_Stream(pieces, asked)
        )


@attrs.define(eq=False)
class _Stream(httpx.AsyncByteStream):
    pieces: Sequence[bytes | anyio.Event]
    asked: Asked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                await piece.wait()

    async def aclose(self) -> None:
        self.asked.closed = True


class Client:
    """One client's request to a gateway, and what it got so far. Cancelling the request's task is its leaving."""

    gone = True

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.status = 0
        self.body = b""
        self._more = anyio.Event()

    async def ask(self, path: str = "/v1/messages", **fields: Any) -> None:
        """Send the request and wait for the end of its answer."""
        body = json.dumps({**REQUEST, **fields}).encode()
        headers = [(b"content-type", b"application/json"), (b"anthropic-version", b"2023-06-01")]
        await self._gateway.handle(HTTPRequest("POST", path, headers=headers, body=body, id="req_kit"), self)
        self._gateway.tell()

    async def has(self, data: bytes) -> None:
        """Wait until these bytes have come."""
        while data not in self.body:
            await self._more.wait()

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:  # noqa: ARG002
        """The gateway's: the head."""
        self.status = status

    async def send(self, data: bytes, more: bool) -> None:  # noqa: ARG002
        """The gateway's: a part of the body."""
        self.body += data
        self._more.set()
        self._more = anyio.Event()
