"""The demo engine over HTTP, a fake upstream for tests and for people: `hypercorn plugins.demo.server:app`.

POST …/chat/completions (JSON or an event stream), GET …/models, GET …/health.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import anyio
import anyio.lowlevel
import attrs
import orjson

from plugins.demo import engine

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON, EVENTS = b"application/json", b"text/event-stream"
MODEL = {"id": "demo", "object": "model", "created": 0, "owned_by": "hookline"}


@attrs.frozen(eq=False)
class Server:
    """The ASGI application; `delay` is the time between two chunks of a stream, in seconds."""

    delay: float = 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection of the server's."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"].rstrip("/")
        if path.endswith("/chat/completions"):
            if method != "POST":
                await _whole(send, 405, _error("Use POST."))
                return
            await self._answer(await _body(receive), send)
        elif path.endswith("/models") and method == "GET":
            await _whole(send, 200, {"object": "list", "data": [MODEL]})
        elif path == "/health" and method == "GET":
            await _whole(send, 200, {"status": "ok"})
        else:
            await _whole(send, 404, _error(f"There is no {method} {path} here."))

    async def _answer(self, data: bytes, send: Send) -> None:
        try:
            body = orjson.loads(data)
        except orjson.JSONDecodeError:
            await _whole(send, 400, _error("The body is not JSON."))
            return
        reply = engine.answer(body)
        if not reply.stream:
            await _whole(send, reply.status, reply.objects[0])
            return
        await _start(send, reply.status, EVENTS)
        for event in _events(reply.objects):
            await (anyio.sleep(self.delay) if self.delay > 0 else anyio.lowlevel.checkpoint())
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _lifespan(receive: Receive, send: Send) -> None:
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})


async def _body(receive: Receive) -> bytes:
    parts = []
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    return b"".join(parts)


def _events(chunks: list[dict[str, Any]]) -> Iterator[bytes]:
    for chunk in chunks:
        yield b"data: " + orjson.dumps(chunk) + b"\n\n"
    yield b"data: [DONE]\n\n"


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


async def _whole(send: Send, status: int, value: object) -> None:
    await _start(send, status, JSON)
    await send({"type": "http.response.body", "body": orjson.dumps(value)})


async def _start(send: Send, status: int, content_type: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", content_type)]})


app = Server()
