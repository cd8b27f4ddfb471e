"""The application that the tests serve: it says what it got, and does what the path says."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import orjson


class Hello:
    """POST: the body, the method and the path come back as JSON; other paths see below."""

    client_timeout = 60.0
    drain_grace = 0.0
    drain_timeout = 0.5
    told = "hello"

    def __init__(self) -> None:
        self.leaving = False
        self.draining = asyncio.Event()
        self.left = asyncio.Event()
        """Set when a stream is over."""
        self.reloads = 0
        self.seen: list[tuple[str, str]] = []

    def begin_grace(self) -> None:
        self.leaving = True

    def begin_drain(self) -> None:
        self.draining.set()

    def reload(self) -> None:
        self.reloads += 1

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            self.seen.append((scope["method"], scope["path"]))
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        if os.environ.get("HELLO") == "no start":
            await send({"type": "lifespan.startup.failed", "message": "no luck"})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        if path == "/early":  # answers before it has the body
            await _answer(send, b"early")
            return
        body = b""
        while (event := await receive())["type"] == "http.request":
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        else:
            return
        if path == "/die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif path == "/burst":  # many pieces, after a while
            await _begin(send)
            await self.draining.wait()
            for _ in range(20):
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
                await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b"last"})
        elif path in {"/drain", "/forever", "/never", "/flood"}:
            await self._stream(path, receive, send)
        elif path == "/half":  # forgets to end
            await _begin(send)
        elif path == "/about":
            await _answer(send, b"%d %d" % (os.getpid(), self.reloads))
        else:
            said = {"method": scope["method"], "path": path, "body": body.decode("latin-1")}
            await _answer(send, orjson.dumps(said))

    async def _stream(self, path: str, receive: Any, send: Any) -> None:
        """An answer that ends with the server, with the client, with nothing in the world; one that never stops."""
        await _begin(send)
        try:
            if path == "/drain":
                await self.draining.wait()
                await send({"type": "http.response.body", "body": b"last"})
            elif path == "/forever":
                await _gone(receive)
            elif path == "/never":
                await asyncio.Event().wait()
            else:
                gone = asyncio.create_task(_gone(receive))
                while not gone.done():
                    await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                    await asyncio.sleep(0)  # of a closed connection Hypercorn's `send` takes all without a pause
        finally:
            self.left.set()


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _begin(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"first ", "more_body": True})


async def _answer(send: Any, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if os.environ.get("HELLO") == "no import":
    raise SystemExit("no such luck")

app = Hello()
