"""Upstream bytes in, client bytes out, in process: the whole pipeline with the network replaced."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import attrs
import httpx
import structlog
from structlog.testing import capture_logs

from core.gateway import Gateway
from core.request import HTTPRequest
from core.testing.assemble import Assembly, Options, Plugin, StreamSetting
from core.testing.fold import fold, fold_json
from core.testing.fold_checks import breach, need

REQUEST: Final[Mapping[str, Any]] = {
    "model": "client-model",
    "max_tokens": 256,
    "messages": [{"role": "user", "content": "Hi"}],
}
"""What the client asks when a test does not say."""


@attrs.frozen
class Reply:
    """What the client got.

    `message` is the folded message as far as it came ({}: none), `error` the error's `type` and `message`, or None.
    `sent` is the JSON body that reached the upstream, None when none did. `closed` tells that the upstream's answer
    was closed, `log` is the request's log line.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    message: Mapping[str, Any]
    error: Mapping[str, Any] | None
    sent: Any
    closed: bool
    log: Mapping[str, Any]


def replay(
    plugins: Sequence[Plugin] | Assembly,
    pieces: Iterable[bytes],
    *,
    request: Mapping[str, Any] | None = None,
    stream: bool = False,
    upstream_stream: StreamSetting = "auto",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    fails: Exception | None = None,
    options: Options | None = None,
) -> Reply:
    """Serve one request through a backend of these plugins, whose upstream answers with these bytes.

    Each of `pieces` is one network read; `fails` is raised after the last. `request` is the client's body, completed
    from REQUEST; `stream` whether the client streams. `plugins` may be an `Assembly` of them, which saves loading them
    again in each of many tests. For use outside an event loop; inside one, use `replayer`.
    Raises AssertionError when the answer breaks the protocol, and when a plugin raised what is no GatewayError;
    ConfigError, one line, for a plugin or an option that hookline would refuse at its start.
    """
    __tracebackhide__ = True
    assembly = plugins if isinstance(plugins, Assembly) else Assembly(plugins, options)

    async def run() -> Reply:
        async with replayer(assembly, upstream_stream) as player:
            return await player.play(
                pieces, request=request, stream=stream, status=status, headers=headers, fails=fails
            )

    return anyio.run(run)


@asynccontextmanager
async def replayer(assembly: Assembly, upstream_stream: StreamSetting = "auto") -> AsyncIterator[Replayer]:
    """A gateway for many replays, the plugins' `lifespan` around all of them."""
    network = Network()
    gateway = assembly.gateway(network, upstream_stream)
    async with gateway.running():
        yield Replayer(gateway, network)


class Replayer:
    """Plays upstream answers through one gateway, one at a time."""

    def __init__(self, gateway: Gateway, network: Network) -> None:
        self._gateway = gateway
        self._network = network

    async def play(
        self,
        pieces: Iterable[bytes],
        *,
        request: Mapping[str, Any] | None = None,
        stream: bool = False,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        fails: Exception | None = None,
    ) -> Reply:
        """One request and its answer; the arguments are those of `replay`."""
        answer = self._network.answer = Answer(list(pieces), status, headers or {}, fails)
        body = json.dumps({**REQUEST, **(request or {}), "stream": stream}).encode()
        client_headers = [(b"content-type", b"application/json"), (b"anthropic-version", b"2023-06-01")]
        http = HTTPRequest("POST", "/v1/messages", headers=client_headers, body=body, id="req_replay")
        sink = _Sink()
        with capture_logs(processors=[structlog.processors.format_exc_info]) as log:
            await self._gateway.handle(http, sink)
            self._gateway.tell()
        for entry in log:
            need(entry["event"] != "fault", f"the gateway failed:\n{entry.get('exception')}")
        return _reply(sink, answer, next((entry for entry in log if entry["event"] == "request"), {}))


@attrs.define(eq=False)
class Answer:
    """One upstream answer on a `Network`, and what became of it."""

    pieces: list[bytes]
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)
    fails: Exception | None = None
    sent: Any = None
    closed: bool = False

    def response(self) -> httpx.Response:
        """The response, with a content type that fits the bytes when the headers name none."""
        start = b"".join(self.pieces[:64]).lstrip()[:1]
        content_type = "application/json" if start in (b"{", b"[") else "text/event-stream"
        return httpx.Response(self.status, headers={"content-type": content_type, **self.headers}, stream=_Pieces(self))


class Network(httpx.AsyncBaseTransport):
    """A transport without a network: every request gets the one `answer`."""

    def __init__(self) -> None:
        self.answer = Answer([])

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Note the request's body and answer."""
        self.answer.sent = json.loads(await request.aread())
        return self.answer.response()


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._answer.pieces:
            yield piece
        if self._answer.fails is not None:
            raise self._answer.fails

    async def aclose(self) -> None:
        self._answer.closed = True


class _Sink:
    """Collects what is sent to the client, and holds the gateway to the order of its calls."""

    gone = True  # whoever takes a replay's task away is the client, and leaves

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        need(not self.status, "the answer was started twice")
        self.status = status
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}

    async def send(self, data: bytes, more: bool) -> None:
        need(self.status and not self.ended, "bytes were sent before the start or after the end of the answer")
        self.body += data
        self.ended = not more


def _reply(sink: _Sink, answer: Answer, log: Mapping[str, Any]) -> Reply:
    need(sink.ended, "the answer was never ended")
    content_type = sink.headers.get("content-type", "").partition(";")[0]
    if content_type not in ("text/event-stream", "application/json"):
        breach(f"the answer's content-type is {content_type!r}")
    folded = fold(sink.body) if content_type == "text/event-stream" else fold_json(sink.body)
    failed = folded.error is not None and content_type == "application/json"
    need(failed == (sink.status >= 400), f"status {sink.status} does not fit the body {sink.body[:200]!r}")
    return Reply(sink.status, sink.headers, sink.body, folded.message, folded.error, answer.sent, answer.closed, log)
