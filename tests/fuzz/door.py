"""The real application in the test's own process, behind the real HTTP server or without it; its upstream is a stub."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs

from core.asgi import ASGIApp
from core.config import ServerConfig
from core.testing import Assembly, UpstreamAnswer
from core.testing.replay import Answer, Network

ANSWER: Final = UpstreamAnswer(text="Hello.")


class Stub(Network):
    """An upstream that answers every request well."""

    async def handle_async_request(self, request: Any) -> Any:
        """The answer, as a stream if that is asked for."""
        self.answer = Answer([ANSWER.wire(stream=b'"stream":true' in await request.aread())])
        return await super().handle_async_request(request)


@asynccontextmanager
async def application(plugin: str, server: ServerConfig | None = None) -> AsyncIterator[ASGIApp]:
    """The application with one backend of this plugin."""
    gateway = Assembly([plugin], backend={"query": {"api-version": "1"}}).gateway(Stub())
    gateway.server = server or gateway.server
    async with gateway.running():
        yield ASGIApp(gateway)


@attrs.define
class Sent:
    """What the application sent for one request; the order of its events is checked as it sends them."""

    status: int = 0
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b""
    ended: bool = False

    async def take(self, event: Any) -> None:
        assert not self.ended, f"{event['type']} after the end"
        if event["type"] == "http.response.start":
            assert not self.status, "two answers"
            self.status = event["status"]
            self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event["headers"]}
            assert len(self.headers) == len(event["headers"]), f"a header twice: {event['headers']}"
        else:
            assert self.status, "a body without its head"
            self.body += event["body"]
            self.ended = not event["more_body"]


async def ask(
    app: ASGIApp,
    method: str,
    path: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    body: Sequence[bytes],
    query: bytes = b"",
) -> Sent:
    """One request, its body in these pieces."""
    events = [{"type": "http.request", "body": piece, "more_body": True} for piece in body]
    events.append({"type": "http.request", "body": b"", "more_body": False})
    sent, waiting = Sent(), iter(events)

    async def receive() -> Any:
        event = next(waiting, None)
        return event or await asyncio.Event().wait()

    scope = {"type": "http", "http_version": "1.1", "method": method, "path": path.decode("latin-1"), "raw_path": path}
    await app(
        {**scope, "query_string": query, "headers": list(headers), "client": ("127.0.0.1", 5)}, receive, sent.take
    )
    return sent
