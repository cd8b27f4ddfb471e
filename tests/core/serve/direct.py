"""HTTP/1 without a socket: what the client would see and what the connection is told are kept in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.typing import ConnectionState

from core.serve.http1 import HTTP1
from core.serve.settings import ServerOptions, protocol_config

App = Callable[[Any, Any, Any], Awaitable[None]]


class Wire:
    """A writer, and its transport, of a client that takes all; or nothing, while it is `full`."""

    def __init__(self) -> None:
        self.transport = self
        self.writes: list[bytes] = []
        self.full = self.shut = False
        self.room = asyncio.Event()
        self.aborted = False
        self.options: list[Any] = []
        self.fault: Exception | None = None

    def write(self, data: bytes) -> None:
        if self.shut:
            raise RuntimeError("the handler is closed")
        self.writes.append(data)

    def say(self, data: bytes) -> None:
        self.writes.append(data)

    async def drain(self) -> None:
        if self.fault is not None:
            raise self.fault
        await self.room.wait()

    def is_closing(self) -> bool:
        return self.shut

    def abort(self) -> None:
        self.aborted = True

    def get_extra_info(self, name: str) -> Any:
        assert name == "socket"
        return self

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


@attrs.define
class Direct:
    """A connection whose bytes are given by hand."""

    http1: HTTP1
    wire: Wire
    context: WorkerContext
    events: list[Event]

    @property
    def seen(self) -> bytes:
        """What the client has got."""
        return b"".join(self.wire.writes)

    @property
    def closed(self) -> bool:
        """Whether the connection was told to end."""
        return any(isinstance(event, Closed) for event in self.events)

    async def give(self, *pieces: bytes) -> None:
        """Bytes come, in these reads; back when the next may be read."""
        for piece in pieces:
            await self.http1.handle(RawData(piece))

    async def leave(self) -> None:
        """The client leaves."""
        await self.http1.handle(Closed())


@asynccontextmanager
async def direct(
    app: App, config: Config | None = None, state: Mapping[str, Any] | None = None, max_requests: int | None = None
) -> AsyncIterator[Direct]:
    """One connection; at the end all of its requests have to end."""
    wire, events = Wire(), list[Event]()

    async def send(event: Event) -> None:
        events.append(event)

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    context = WorkerContext(max_requests)
    async with asyncio.timeout(10), TaskGroup(asyncio.get_running_loop()) as group:
        parts: Sequence[Any] = (context, group, ConnectionState(dict(state or {})), False, ("c", 1), ("s", 2), send)
        written: Any = wire
        config = config or protocol_config(ServerOptions())
        http1 = HTTP1(ASGIWrapper(wrapped), config, *parts, writer=written)
        await http1.initiate()
        yield Direct(http1, wire, context, events)
        await http1.handle(Closed())


async def settle(times: int = 20) -> None:
    """Let all tasks go as far as they can without news."""
    for _ in range(times):
        await asyncio.sleep(0)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """METHOD TARGET HEADERS BODY come back."""
    body = b""
    while (event := await receive())["type"] == "http.request":
        body += event["body"]
        if not event["more_body"]:
            break
    else:
        return
    said = b"%b %b %d %b" % (scope["method"].encode(), scope["raw_path"], len(scope["headers"]), body)
    await reply(send, said)


async def reply(send: Any, body: bytes, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """A whole answer with its length."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
