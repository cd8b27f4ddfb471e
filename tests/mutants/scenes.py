"""What is asked and answered where a mutant's fault shows, and the network that plays it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

import anyio
import attrs
import httpx

from core.testing import UpstreamAnswer
from core.testing.assemble import StreamSetting

Answer = UpstreamAnswer | bytes


@attrs.frozen
class Scene:
    """One request and its upstream answer.

    `cut` is the number of bytes per network read (0: an event each). `end` "open": the connection stays open behind
    the last byte. `fails` is raised there; `unreachable` in place of an answer. `leaves`: the client leaves when there
    is nothing more to read. `halt`: a wrapper ends the answer after so many chunks. `rewrites` are fields of the
    request that a wrapper changes; `intercepts`: a wrapper answers in the call's place. `limit` is in seconds.
    `backend` and `options` are the backend's table, taken from the first scene of a row.
    """

    answer: Answer = attrs.field(factory=UpstreamAnswer)
    request: Mapping[str, Any] = attrs.field(factory=dict)
    stream: bool = True
    upstream_stream: StreamSetting = "auto"
    path: str = "/v1/messages"
    cut: int = 0
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    fails: Exception | None = None
    unreachable: bool = False
    end: Literal["closed", "open"] = "closed"
    leaves: bool = False
    halt: int = 0
    rewrites: Mapping[str, Any] = attrs.field(factory=dict)
    intercepts: bool = False
    limit: float = 10.0
    backend: Mapping[str, Any] = attrs.field(factory=dict)
    options: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def body(self) -> bytes:
        """The client's body."""
        given = {"model": "client-model", "messages": [{"role": "user", "content": "Hi"}], **self.request}
        return json.dumps(
            given if "count" in self.path else {"max_tokens": 256, **given, "stream": self.stream}
        ).encode()

    def pieces(self, *, streams: bool) -> list[bytes]:
        """The answer's network reads."""
        data = self.answer if isinstance(self.answer, bytes) else self.answer.wire(stream=streams)
        if self.cut:
            return [data[at : at + self.cut] for at in range(0, len(data), self.cut)]
        return [piece for piece in re.split(rb"(?<=\n\n)", data) if piece]


class Upstream(httpx.AsyncBaseTransport):
    """Plays the scenes of a row; notes what is sent, how much of each answer is read, and what is closed."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.begin(scene)

    def begin(self, scene: Scene) -> None:
        """The next scene."""
        self.scene = scene
        self.sent: list[Any] = []
        self.closed: list[bool] = []
        self.reads = 0
        self.drained = anyio.Event()
        self.release = anyio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer as the scene says."""
        body = json.loads(await request.aread())
        self.sent.append({"path": request.url.path, "key": request.headers.get("authorization"), "body": body})
        if self.scene.unreachable:
            raise httpx.ConnectError(f"cannot reach {request.url}")
        pieces = self.scene.pieces(streams=bool(body.get("stream")))
        start = pieces[0].lstrip()[:1] if pieces else b""
        kind = "application/json" if start in (b"{", b"[") else "text/event-stream"
        self.closed.append(False)
        headers = {"content-type": kind, **self.scene.headers}
        return httpx.Response(self.scene.status, headers=headers, stream=_Body(self, pieces, len(self.closed) - 1))


class _Body(httpx.AsyncByteStream):
    def __init__(self, upstream: Upstream, pieces: list[bytes], number: int) -> None:
        self.upstream, self.pieces, self.number = upstream, pieces, number

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.upstream.reads += 1
            yield piece
        self.upstream.drained.set()
        if self.upstream.scene.fails is not None:
            raise self.upstream.scene.fails
        if self.upstream.scene.end == "open":
            await self.upstream.release.wait()

    async def aclose(self) -> None:
        self.upstream.closed[self.number] = True
