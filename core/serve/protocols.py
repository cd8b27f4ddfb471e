"""HTTP/1 or HTTP/2 for a connection; HTTP/2 is Hypercorn's, less trusting.

Hypercorn 0.18; what is private there is used in this file and in `connection.py` alone.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from typing import Any, Final

import h2.errors
import h2.events
import h2.exceptions
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.events import StreamClosed
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BUFFER_LOW_WATER, BufferCompleteError, H2Protocol, StreamBuffer
from hypercorn.protocol.h11 import H2ProtocolAssumedError
from hypercorn.typing import AppWrapper

from core.serve.heads import TOKEN
from core.serve.http1 import HTTP1
from core.serve.settings import for_http2
from core.serve.writer import Writer

BURST: Final = 200
"""Resets of its own requests that one HTTP/2 client may send at once…"""
RATE: Final = 20.0
"""… and per second from then on; more is an attack (CVE-2023-44487)."""


_METHOD: Final = re.compile(TOKEN + rb"+")
_PATH: Final = re.compile(rb"[/*][\x21-\x7e]*")


class Buffer(StreamBuffer):
    """What one request's client has not taken. Hypercorn's grows without bound: it takes a window that the client has
    closed for a buffer that is empty, and lets the application go on."""

    async def push(self, data: bytes) -> None:
        """Add, and wait until there is room for more. Raises BufferCompleteError after the end."""
        if self._complete:
            raise BufferCompleteError
        self.buffer.extend(data)
        await self._is_empty.clear()
        if len(self.buffer) >= BUFFER_HIGH_WATER:
            await self._paused.clear()
            await self._paused.wait()

    async def pop(self, max_length: int) -> bytes:
        """The next bytes; what is left decides who goes on."""
        data = bytes(self.buffer[:max_length])
        del self.buffer[:max_length]
        if len(self.buffer) < BUFFER_LOW_WATER:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data


class HTTP2(H2Protocol):
    """HTTP/2 that survives what a client does to its own streams."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._allowed = float(BURST)
        self._counted = time.monotonic()

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.RequestReceived) and self.context.terminated.is_set():
                # The client may safely send it again, elsewhere.
                self.connection.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            elif isinstance(event, h2.events.RequestReceived) and not _is_sound(event):
                # RFC 9113, 8.1.1: an error of this stream alone. Hypercorn fails on it, and all others with it.
                if not await self._reset(event.stream_id):
                    return
            elif isinstance(event, h2.events.DataReceived) and event.stream_id not in self.streams:
                # The rest of a body whose request has been answered: Hypercorn fails on it, and the connection with it.
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                if not await self._may_go_on():
                    return
                await super()._handle_events([event])
                # The sending task, which has been woken, forgets the stream: of more than a thousand the tree of
                # priorities would fail.
                await asyncio.sleep(0)
            else:
                await super()._handle_events([event])
        await self._flush()

    async def _priority_updated(self, event: h2.events.PriorityUpdated) -> None:
        """Nothing: RFC 9113 has no priorities any more, and a client could overfill Hypercorn's tree of them."""

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        await super()._create_stream(request)
        # The application has not begun; the buffer is Hypercorn's, and only how it is used is ours.
        if (buffer := self.stream_buffers.get(request.stream_id)) is not None:
            buffer.__class__ = Buffer

    async def stream_send(self, event: StreamEvent) -> None:
        """Send for the application. What it left unfinished is reset: the client would wait for the rest for ever."""
        if isinstance(event, StreamClosed):
            buffer = self.stream_buffers.get(event.stream_id)
            if buffer is not None and not buffer.complete:
                with suppress(h2.exceptions.ProtocolError):
                    self.connection.reset_stream(event.stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)
                    await self._flush()
                await self._send_data(event.stream_id)  # finds it closed, and forgets it
        await super().stream_send(event)

    async def _reset(self, stream: int) -> bool:
        """Reset a request that is none; whether the connection goes on."""
        if not await self._may_go_on():
            return False
        self.connection.reset_stream(stream, h2.errors.ErrorCodes.PROTOCOL_ERROR)
        return True

    async def _may_go_on(self) -> bool:
        """Count a stream that was reset; too many end the connection."""
        if self._may_reset():
            return True
        self.connection.close_connection(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
        await self._flush()
        await self.send(Closed())
        return False

    def _may_reset(self) -> bool:
        now = time.monotonic()
        self._allowed = min(BURST, self._allowed + (now - self._counted) * RATE) - 1
        self._counted = now
        return self._allowed >= 0


class Protocols(ProtocolWrapper):
    """HTTP/1, or HTTP/2 from the moment on that the client's first bytes say so."""

    protocol: HTTP1 | HTTP2  # type: ignore[assignment]  # Hypercorn's own would be its HTTP/1

    def __init__(self, app: AppWrapper, config: Config, *shared: Any, writer: Writer) -> None:
        # Not Hypercorn's, which would make its own HTTP/1 first.
        self._app = app
        self._config = config
        self._shared = shared
        self.protocol = HTTP1(app, config, *shared, writer=writer)

    async def handle(self, event: Event) -> None:
        """Take bytes from the client, or the news that it has left."""
        try:
            await self.protocol.handle(event)
        except H2ProtocolAssumedError as assumed:
            data = assumed.data
        else:
            return
        # Not in the `except`: whatever fails from here on would be told with the client's bytes, its key among them.
        self.protocol = HTTP2(self._app, for_http2(self._config), *self._shared)
        await self.protocol.initiate()
        await self.protocol.handle(RawData(data))

    @property
    def idle_http2(self) -> bool:
        """Whether this is HTTP/2 without a request."""
        return isinstance(self.protocol, HTTP2) and self.protocol.idle

    @property
    def unread(self) -> bool:
        """Whether the client has sent, or is still sending, what nobody will read."""
        return isinstance(self.protocol, HTTP1) and self.protocol.unread


def _is_sound(request: h2.events.RequestReceived) -> bool:
    """Whether method and path are such as HTTP/1 would take; CONNECT is nothing for a gateway."""
    headers = dict(request.headers)
    method, path = headers.get(b":method", b""), headers.get(b":path", b"")
    return bool(_METHOD.fullmatch(method) and _PATH.fullmatch(path)) and method.upper() != b"CONNECT"
