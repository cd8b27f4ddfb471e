"""A front and a back made for tests: the smallest protocol that shows what the gateway does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pluggy

from core import (
    Answer,
    Candidate,
    Chunk,
    Delta,
    GatewayError,
    HTTPRequest,
    Request,
    RequestError,
    Route,
    Stop,
    Task,
    Text,
    UpstreamCall,
    hookimpl,
)
from core.chat import UpstreamClient
from core.config import BackendConfig, Config, ServerConfig
from core.gateway import Gateway
from core.hookspecs import PROJECT, Hooks
from core.loader import Loaded
from core.pipeline import Back, Pipeline
from plugins.access_log import AccessLog


@attrs.define(eq=False)
class TextAnswer:
    """Writes texts as they are; `finish` writes the stop, `fail` the error."""

    http: HTTPRequest
    stream: bool
    status: int = 200
    headers: Sequence[tuple[bytes, bytes]] = ((b"x-kind", b"answer"),)
    held: bytes = b""
    sent: bool = False

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        data = b""
        for delta in deltas:
            if isinstance(delta, Text):
                data += delta.text.encode()
            elif isinstance(delta, Stop):
                self.held += f"<{delta.reason}>".encode()
        if self.stream:
            self.sent = self.sent or bool(data)
            return data
        self.held = data + self.held
        return b""

    def ping(self) -> bytes:
        return b"."

    def finish(self) -> bytes:
        return self.held

    def fail(self, error: GatewayError) -> bytes:
        if not self.sent:
            self.status = error.status
        return f"!{error.kind}: {error.message}".encode()


@attrs.frozen(eq=False)
class Front:
    """Path /say serves the query's words as a request, /count counts them; /nobody is nobody's, /refuse is refused."""

    @hookimpl
    def parse(self, http: HTTPRequest) -> Request | None:
        if http.path == "/nobody":
            return None
        if http.path == "/refuse":
            raise RequestError("refuse: no")
        if http.path == "/crash":
            raise ValueError("secret detail")
        task: Task = "count_tokens" if http.path == "/count" else "message"
        return Request(task, model=http.query.decode() or "m", stream=http.path == "/stream")

    @hookimpl
    def route(self, request: Request) -> Route | None:
        if request.model == "none":
            return None
        return Route((Candidate("b" if request.model != "lost" else "elsewhere", "up"),))

    @hookimpl
    def serialize(self, http: HTTPRequest, request: Request | None) -> Answer:
        return TextAnswer(http, request is not None and request.stream)


class Words:
    """Content: each chunk's "text"; holds what stands behind a "~" until flush."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        text, _, held = str(chunk.get("text", "")).partition("~")
        self.held += held
        return [Text(text)] if text else []

    def flush(self) -> Sequence[Delta]:
        return [Text(self.held)] if self.held else []


class Ends:
    """Stop: a chunk with "end" ends the answer at flush, one with "now" ends it at once."""

    def __init__(self) -> None:
        self.ended = False

    def feed(self, chunk: Chunk, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.ended = self.ended or bool(chunk.get("end"))
        return [*deltas, Stop("stop_sequence", "now")] if chunk.get("now") else deltas

    def flush(self) -> Sequence[Delta]:
        return [Stop("end_turn")] if self.ended else []


Script = Callable[[], AsyncIterator[list[Chunk]]]


@attrs.frozen(eq=False)
class Upstream:
    """The back: plays a script and writes down what happened to its call."""

    script: Script
    log: list[str] = attrs.field(factory=list)

    @hookimpl
    def call_upstream(self) -> UpstreamCall:
        return self.call()

    @asynccontextmanager
    async def call(self) -> AsyncIterator[AsyncIterator[list[Chunk]]]:
        self.log.append("open")
        try:
            yield self.script()
        finally:
            self.log.append("closed")

    @hookimpl
    def translate_content(self) -> Words:
        return Words()

    @hookimpl
    def translate_stop(self) -> Ends:
        return Ends()


class Prompt(Gateway):
    """Tells those who observe of each request at once, not in a moment."""

    async def handle(self, *arguments: Any, **more: Any) -> None:
        try:
            await super().handle(*arguments, **more)
        finally:
            self.tell()


def manager(*plugins: object) -> pluggy.PluginManager:
    """A manager that knows the hooks and these plugins."""
    made = pluggy.PluginManager(PROJECT)
    made.add_hookspecs(Hooks)
    for plugin in plugins:
        made.register(plugin, name=type(plugin).__name__)
    return made


def gateway(
    script: Script, *extra: object, front: Sequence[object] = (), server: ServerConfig | None = None, **backend: Any
) -> tuple[Gateway, Upstream]:
    """A gateway at /api with one model and one backend that plays the script."""
    upstream = Upstream(script)
    config = BackendConfig("b", ("Upstream",), **backend)
    client = UpstreamClient(config)
    back = Back("b", manager(upstream, *extra), client)
    pipeline = Pipeline("p", ("/api",), manager(Front(), AccessLog(), *front), {"b": back})
    loaded = Loaded(
        Config("t", (), {"b": config}, server=server or ServerConfig()),
        (pipeline,),
        (pipeline.manager, back.manager),
        (client,),
    )
    return Prompt(loaded), upstream


@attrs.define
class Collected:
    """A sink that keeps everything."""

    status: int = 0
    headers: Sequence[tuple[bytes, bytes]] = ()
    pieces: list[bytes] = attrs.field(factory=list)
    ended: bool = False
    gone: bool = True

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        assert self.status == 0
        self.status, self.headers = status, headers

    async def send(self, data: bytes, more: bool) -> None:
        assert self.status
        assert not self.ended
        self.ended = not more
        self.pieces.append(data)

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)
