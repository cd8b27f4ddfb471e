"""The only file, with `sink`, that knows ASGI: lifespan, the body and its limits, a client that leaves or stalls."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import MutableMapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import anyio
import structlog

from core.about import about
from core.config import ServerConfig
from core.config_file import ConfigFile
from core.cut import Cut
from core.door import GONE, Receive, path_of, read_body
from core.errors import GatewayError, RequestError
from core.gateway import Gateway, going
from core.generations import Generations
from core.health import METHODS, health_page
from core.identity import fresh_id
from core.orphan import shutdown_asked
from core.page import Page
from core.reload import Reloader
from core.request import HTTPRequest
from core.sink import Send, Sink
from core.told import Told

BEAT: Final = 1.0
"""Seconds between two looks at clients that stall, and at the server's wish to end."""


class ASGIApp:
    """The application that Hypercorn runs. With a `file`, what changes there is taken up while it runs."""

    def __init__(self, gateway: Gateway, file: ConfigFile | None = None) -> None:
        self.leaving = False
        """Whether no more requests are wanted, though they are served: `/readyz` says so."""
        self.draining = False
        self._generations = Generations(gateway)
        self._reloader = Reloader(file, self._generations) if file is not None else None
        self._open: set[Sink] = set()
        self._shutdown_asked = shutdown_asked()

    @property
    def gateway(self) -> Gateway:
        """What the next request is served by."""
        return self._generations.current.gateway

    @property
    def told(self) -> Told:
        """What is served, for whoever starts the server."""
        return about(self.gateway.loaded)

    @property
    def client_timeout(self) -> float:
        """Seconds that a client may take nothing of what waits for it."""
        return self.gateway.server.client_timeout

    @property
    def drain_grace(self) -> float:
        """Seconds in which all is still served once no more requests are wanted."""
        return self.gateway.server.drain_grace

    @property
    def drain_timeout(self) -> float:
        """Seconds that running requests have left once draining began."""
        return self.gateway.server.drain_timeout

    def begin_grace(self) -> None:
        """The server shall end soon: `/readyz` says no, each answer is its connection's last, nothing is reloaded."""
        if not self.leaving:
            self.leaving = True
            if self._reloader is not None:
                self._reloader.close()
            structlog.get_logger().info("leaving", pid=os.getpid(), requests=len(self._open), seconds=self.drain_grace)

    def begin_drain(self) -> None:
        """The server shall end: what runs may finish within `drain_timeout`, and is then ended with an error."""
        if not self.draining:
            self.leaving = self.draining = True
            if self._reloader is not None:
                self._reloader.close()
            structlog.get_logger().info(
                "draining", pid=os.getpid(), requests=len(self._open), seconds=self.drain_timeout
            )
            asyncio.get_running_loop().call_later(self.drain_timeout, self._generations.interrupt, going())

    def reload(self) -> None:
        """Read the configuration again now, also when its file did not change; to be called in the event loop."""
        if self._reloader is not None:
            self._reloader.ask()

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
                await stack.enter_async_context(self._generations.running())
            except Exception as error:  # noqa: BLE001  whatever a plugin's start raises: nothing may be served without it
                notes = "; ".join(getattr(error, "__notes__", []))
                # A port in use or a directory that cannot be written is nobody's fault in the code: no trace of it.
                trace = None if isinstance(error, OSError) else error
                structlog.get_logger().error("the start failed", why=str(error), notes=notes, exc_info=trace)
                await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error} {notes}"})
                return
            # What is there now stays: the collector of cycles need not look through it again with each large request.
            gc.collect()
            gc.freeze()
            # A large request makes thousands of objects at once and nearly none in a cycle: to look through them after
            # every 700, as Python does, is a tenth of its whole cost.
            gc.set_threshold(10_000, 20, 10)
            await send({"type": "lifespan.startup.complete"})
            async with anyio.create_task_group() as group:
                group.start_soon(self._beat)
                if self._reloader is not None:
                    group.start_soon(self._reloader.run)
                await receive()
                group.cancel_scope.cancel()
        structlog.get_logger().info("ended", pid=os.getpid())
        await send({"type": "lifespan.shutdown.complete"})

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            limit = self.gateway.server.client_timeout
            await anyio.sleep(min(BEAT, limit / 4))
            for sink in list(self._open):
                if sink.since and loop.time() - sink.since > limit:
                    sink.give_up()
            if self._shutdown_asked():
                self.begin_drain()

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        path = path_of((scope.get("raw_path") or scope["path"].encode()).decode("latin-1"))
        if page := health_page(scope["method"], path, ready=not self.leaving):
            await _send_page(send, page, scope)
            return
        # A task group for the request and its watcher would cost as much as the whole mapping.
        with self._generations.current as gateway, Cut() as cut:
            sink = Sink(send, cut.now)
            self._open.add(sink)
            try:
                await self._serve(gateway, scope, path, receive, sink)
            finally:
                self._open.discard(sink)

    async def _serve(
        self, gateway: Gateway, scope: MutableMapping[str, Any], path: str, receive: Receive, sink: Sink
    ) -> None:
        client = scope.get("client")
        http = HTTPRequest(
            method=scope["method"],
            path=path,
            query=scope["query_string"],
            headers=scope["headers"],
            id=fresh_id("req_"),
            client=f"{client[0]}:{client[1]}" if client else "",
        )
        http1 = scope["http_version"].startswith("1")
        # A body that is not read to its end spoils an HTTP/1 connection for the next request.
        sink.close = http1
        watch: asyncio.Task[None] | None = None

        async def body() -> bytes | None:
            nonlocal watch
            try:
                found = await read_body(scope["headers"], receive, gateway.server)
            finally:
                gone = scope.get("extensions", {}).get(GONE)
                if gone is not None:
                    gone["tell"](sink.leave)
                else:
                    watch = asyncio.get_running_loop().create_task(_watch(receive, sink))
            sink.close = http1 and self.leaving
            sink.gone = sink.gone or found is None
            return found

        try:
            await gateway.handle(http, sink, self._refusal(gateway.server, scope["headers"]), body)
        except OSError:  # the client's socket is gone: the same as leaving
            pass
        finally:
            if watch is not None:
                watch.cancel()

    def _refusal(self, limits: ServerConfig, headers: Sequence[tuple[bytes, bytes]]) -> GatewayError | None:
        """Why a request may not even be read, or None."""
        if len(self._open) > limits.max_concurrent:
            said = "the gateway serves as many requests as it may; try again in a moment"
            return GatewayError(said, kind="overloaded", retry_after=1, should_retry=True)
        names = {name for name, _ in headers}
        if b"transfer-encoding" in names and b"content-length" in names:
            # RFC 9112, 6.3: what another server on the way may take for two requests.
            return RequestError("headers: both Transfer-Encoding and Content-Length are given; send one of them")
        return None


async def _send_page(send: Send, page: Page, scope: MutableMapping[str, Any]) -> None:
    headers = [(b"content-type", page.content_type.encode()), (b"content-length", b"%d" % len(page.body))]
    if page.status == 405:
        headers.append((b"allow", ", ".join(METHODS).encode()))
        if scope["http_version"].startswith("1"):
            headers.append((b"connection", b"close"))  # there may be a body, which nobody reads
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    await send({"type": "http.response.body", "body": page.body if scope["method"] != "HEAD" else b""})


async def _watch(receive: Receive, sink: Sink) -> None:
    """Cancel the request when its client leaves: Hypercorn's `send` never fails, only `receive` tells."""
    while (await receive())["type"] != "http.disconnect":
        pass
    sink.leave()
