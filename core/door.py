"""The body of a request as it comes in, and its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from core.errors import RequestError
from core.sink import Event

Receive = Callable[[], Awaitable[Event]]
"""ASGI's `receive`."""


async def read_body(headers: Sequence[tuple[bytes, bytes]], receive: Receive, limit: int) -> bytes | None:
    """The request's body; None when the client left before its end. Raises RequestError over the limit of bytes."""
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


def late_body(seconds: float) -> RequestError:
    """The error for one that did not come in time."""
    return RequestError(f"the request's body did not come within {seconds:g} seconds", status=408)


def _too_large(limit: int) -> RequestError:
    return RequestError(f"Request exceeds the maximum size of {limit} bytes", kind="too_large")
