"""The body of a request as it comes in, and its limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from core.config import ServerConfig
from core.cut import Cut
from core.errors import RequestError
from core.sink import Event

GONE: Final = "hookline.gone"
"""An extension of ASGI's scope, where the server has it: `tell`, which takes what is to be called when the client
leaves. A task for each request that waits for that news costs more than all else at the door."""

Receive = Callable[[], Awaitable[Event]]
"""ASGI's `receive`."""


def path_of(target: str) -> str:
    """The path of a request's target, which may also be a whole URL (RFC 9112, 3.2.2)."""
    if not target[:8].lower().startswith(("http://", "https://")):
        return target
    _, slash, path = target.partition("://")[2].partition("/")
    return slash + path or "/"


async def read_body(headers: Sequence[tuple[bytes, bytes]], receive: Receive, limits: ServerConfig) -> bytes | None:
    """The request's body; None when the client left before its end.

    Raises RequestError for one that is too large, or does not come in time.
    """
    with Cut() as cut:
        timer = asyncio.get_running_loop().call_later(limits.body_timeout, cut.now)
        try:
            return await _read(headers, receive, limits.max_body)
        finally:
            timer.cancel()
    raise RequestError(f"the request's body did not come within {limits.body_timeout:g} seconds", status=408)


async def _read(headers: Sequence[tuple[bytes, bytes]], receive: Receive, limit: int) -> bytes | None:
    announced = next((value for name, value in headers if name == b"content-length"), b"")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        if data := event.get("body", b""):
            parts.append(data)
            size += len(data)
            if size > limit:
                raise _too_large(limit)
        if not event.get("more_body", False):
            return b"".join(parts)


def _too_large(limit: int) -> RequestError:
    return RequestError(f"Request exceeds the maximum size of {limit} bytes", kind="too_large")
