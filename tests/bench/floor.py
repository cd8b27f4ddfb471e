"""The floor: the least that this stack can do for a request. Parses nothing, passes on each network read in one send.

Hypercorn serves `app`, and aiohttp's connections are under httpx. Nothing of hookline's is used, so that the floor stays
where it is when hookline gets another server or another transport.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

UPSTREAM = "BENCH_UPSTREAM"
"""The environment variable with the upstream's URL."""

Event = MutableMapping[str, Any]


class Floor:
    """The application."""

    def __init__(self, url: str) -> None:
        self._transport = AiohttpTransport(client=_session)
        self._headers = httpx.Headers(
            {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "floor"}
        )
        self._url = httpx.URL(f"{url}/chat/completions")
        self._extensions = {"timeout": httpx.Timeout(600.0, connect=10.0, pool=None).as_dict()}

    async def __call__(
        self, scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]
    ) -> None:
        """One request, or the lifespan."""
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._transport.aclose()
            await send({"type": "lifespan.shutdown.complete"})
            return
        parts: list[bytes] = []
        more = True
        while more:
            event = await receive()
            parts.append(event.get("body", b""))
            more = event.get("more_body", False)
        request = httpx.Request(
            "POST", self._url, headers=self._headers, content=b"".join(parts), extensions=self._extensions
        )
        response = await self._transport.handle_async_request(request)
        kept = (b"content-type", b"content-length")
        headers = [(name.lower(), value) for name, value in response.headers.raw if name.lower() in kept]
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        assert isinstance(response.stream, httpx.AsyncByteStream)
        async for data in response.stream:
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        await response.aclose()


def _session() -> aiohttp.ClientSession:
    """Without aiohttp's bound of 100 connections, without cookies, and with no headers of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    )


app = Floor(os.environ.get(UPSTREAM, "http://127.0.0.1:1/v1"))
"""What Hypercorn imports."""
