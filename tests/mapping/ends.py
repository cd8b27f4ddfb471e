"""The two ends of an exchange without a network: an upstream that was told its answers, and a client that listens."""

from __future__ import annotations

from collections.abc import Sequence

import httpx


class Script(httpx.AsyncBaseTransport):
    """An upstream: its replies come in order, the last one repeats; `requests` are those that came.

    A reply that is an exception is raised, as a connection that fails would.
    """

    def __init__(self, replies: Sequence[httpx.Response | Exception]) -> None:
        self.requests: list[httpx.Request] = []
        self._replies = replies

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)


class Sink:
    """What came to the client."""

    gone = True

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.status = status
        self.headers = {name.decode().lower(): value.decode() for name, value in headers}

    async def send(self, data: bytes, more: bool) -> None:
        self.body += data
