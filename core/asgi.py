"""The only file that knows ASGI: lifespan, the body and its limit, a client that leaves, headers."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import anyio
import structlog

from core.errors import RequestError
from core.gateway import Gateway
from core.request import HTTPRequest

BODY_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a request body, the limit of the Messages API itself."""

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


class ASGIApp:
    """The application that Hypercorn runs."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One connection's lifespan or request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self.gateway.running())
            except Exception as error:  # noqa: BLE001  whatever a plugin's start raises: nothing may be served without it
                notes = "; ".join(getattr(error, "__notes__", []))
                structlog.get_logger().error("the start failed", why=str(error), notes=notes, exc_info=error)
                await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error} {notes}"})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        refusal = None
        try:
            body = await _read(scope["headers"], receive)
        except RequestError as error:
            body, refusal = b"", error
        if body is None:
            return
        client = scope.get("client")
        http = HTTPRequest(
            method=scope["method"],
            path=(scope.get("raw_path") or scope["path"].encode()).decode("latin-1"),
            query=scope["query_string"],
            headers=scope["headers"],
            body=body,
            id=f"req_{secrets.token_hex(12)}",
            client=f"{client[0]}:{client[1]}" if client else "",
        )
        async with anyio.create_task_group() as group:
            group.start_soon(_watch, receive, group.cancel_scope)
            with suppress(OSError):  # the client's socket is gone: the same as leaving
                # A body that was not read to its end spoils an HTTP/1 connection for the next request.
                close = refusal is not None and scope["http_version"].startswith("1")
                await self.gateway.handle(http, _Sink(send, close=close), refusal)
            group.cancel_scope.cancel()


async def _read(headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> bytes | None:
    """The request's body; None when the client left before its end. Raises RequestError over the limit."""
    announced = next((value for name, value in headers if name == b"content-length"), b"")
    if announced.isdigit() and int(announced) > BODY_LIMIT:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        if data := event.get("body", b""):
            parts.append(data)
            size += len(data)
            if size > BODY_LIMIT:
                raise _too_large()
        if not event.get("more_body", False):
            return b"".join(parts)


def _too_large() -> RequestError:
    return RequestError(f"Request exceeds the maximum size of {BODY_LIMIT} bytes", kind="too_large")


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel the request when its client leaves: Hypercorn's `send` never fails, only `receive` tells."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class _Sink:
    """Sends an answer; a body that is complete at once gets its content-length."""

    def __init__(self, send: Send, *, close: bool) -> None:
        self._send = send
        self._close = close
        self._head: Event | None = None

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep status and headers for the first bytes."""
        extra = [(b"connection", b"close")] if self._close else []
        self._head = {"type": "http.response.start", "status": status, "headers": [*headers, *extra]}

    async def send(self, data: bytes, more: bool) -> None:
        """Send bytes, after the head if it is still here."""
        if self._head is not None:
            if not more:
                self._head["headers"].append((b"content-length", b"%d" % len(data)))
            head, self._head = self._head, None
            await self._send(head)
        await self._send({"type": "http.response.body", "body": data, "more_body": more})
