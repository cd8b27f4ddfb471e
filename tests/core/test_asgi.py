from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from core import Chunk, hookimpl
from core.asgi import BODY_LIMIT, ASGIApp
from tests.core.fakes import gateway

pytestmark = pytest.mark.anyio


class Peer:
    """The server's side of one connection: events to receive, what was sent; after the events it waits or leaves."""

    def __init__(self, *events: MutableMapping[str, Any]) -> None:
        self.events = deque(events)
        self.sent: list[MutableMapping[str, Any]] = []
        self.left = anyio.Event()
        self.broken = False

    async def receive(self) -> MutableMapping[str, Any]:
        if self.events:
            return self.events.popleft()
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: MutableMapping[str, Any]) -> None:
        if self.broken:
            raise ConnectionResetError
        self.sent.append(event)

    @property
    def body(self) -> bytes:
        return b"".join(event["body"] for event in self.sent[1:])


def scope(path: str = "/api/say", **more: Any) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 5),
        **more,
    }


def data(body: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def hello() -> AsyncIterator[list[Chunk]]:
    yield [{"text": "hello", "end": True}]


async def test_a_whole_answer_has_its_length() -> None:
    served, _ = gateway(hello)
    peer = Peer(data(b"a", more=True), data(b"b"))
    await ASGIApp(served)(scope(), peer.receive, peer.send)
    assert peer.sent[0]["status"] == 200
    assert (b"content-length", b"15") in peer.sent[0]["headers"]
    assert peer.sent[1:] == [{"type": "http.response.body", "body": b"hello<end_turn>", "more_body": False}]


async def test_a_stream_has_no_length_and_comes_piece_by_piece() -> None:
    served, _ = gateway(hello)
    peer = Peer(data(b""))
    await ASGIApp(served)(scope("/api/stream"), peer.receive, peer.send)
    assert [name for name, _ in peer.sent[0]["headers"]] == [b"x-kind"]
    assert [(event["body"], event["more_body"]) for event in peer.sent[1:]] == [
        (b"hello", True),
        (b"<end_turn>", False),
    ]


@pytest.mark.parametrize("version", ["1.1", "2"])
@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_over_the_limit_is_refused_in_the_envelope(version: str, announced: bool) -> None:
    served, upstream = gateway(hello)
    headers = [(b"content-length", b"%d" % (BODY_LIMIT + 1))] if announced else []
    half = b"x" * (BODY_LIMIT // 2 + 1)
    peer = Peer(data(half, more=True), data(half, more=True))
    await ASGIApp(served)(scope(headers=headers, http_version=version), peer.receive, peer.send)
    assert peer.sent[0]["status"] == 413
    assert peer.body.startswith(b"!too_large: Request exceeds")
    assert ((b"connection", b"close") in peer.sent[0]["headers"]) is (version == "1.1")
    assert upstream.log == []


async def test_a_client_that_leaves_while_sending_gets_nothing() -> None:
    served, upstream = gateway(hello)
    peer = Peer(data(b"a", more=True))
    peer.left.set()
    await ASGIApp(served)(scope(), peer.receive, peer.send)
    assert (peer.sent, upstream.log) == ([], [])


@pytest.mark.parametrize("path", ["/api/say", "/api/stream"])
@pytest.mark.parametrize("spoken", [True, False])
async def test_a_client_that_leaves_ends_the_upstream_call(path: str, spoken: bool) -> None:
    reached = anyio.Event()

    async def stuck() -> AsyncIterator[list[Chunk]]:
        if spoken:
            yield [{"text": "a"}]
        reached.set()
        await anyio.sleep_forever()

    served, upstream = gateway(stuck)
    peer = Peer(data(b""))
    with capture_logs() as logs, anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ASGIApp(served), scope(path), peer.receive, peer.send)
            await reached.wait()
            assert upstream.log == ["open"]
            peer.left.set()
    assert upstream.log == ["open", "closed"]
    assert logs[-1]["left"] is True


async def test_a_broken_socket_is_a_client_that_left() -> None:
    served, upstream = gateway(hello)
    peer = Peer(data(b""))
    peer.broken = True
    await ASGIApp(served)(scope(), peer.receive, peer.send)
    assert upstream.log == ["open", "closed"]


async def test_ids_are_fresh_and_addresses_are_logged() -> None:
    served, _ = gateway(hello)
    with capture_logs() as logs:
        for _ in range(2):
            peer = Peer(data(b""))
            await ASGIApp(served)(scope(), peer.receive, peer.send)
    assert logs[0]["id"] != logs[1]["id"]
    assert {line["client"] for line in logs} == {"127.0.0.1:5"}


async def test_lifespan() -> None:
    served, _ = gateway(hello)
    peer = Peer({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    await ASGIApp(served)({"type": "lifespan"}, peer.receive, peer.send)
    assert [event["type"] for event in peer.sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_plugin_that_cannot_start_stops_the_server() -> None:
    closed: list[str] = []

    class Starts:
        @hookimpl
        def lifespan(self) -> Any:
            @asynccontextmanager
            async def life() -> AsyncIterator[None]:
                closed.append("tried")
                int("no bird")
                yield

            return life()

    served, _ = gateway(hello, Starts())
    peer = Peer({"type": "lifespan.startup"})
    with capture_logs() as logs:
        await ASGIApp(served)({"type": "lifespan"}, peer.receive, peer.send)
    (event,) = peer.sent
    assert event["type"] == "lifespan.startup.failed"
    assert event["message"].startswith("ValueError: invalid literal")
    assert "plugin 'Starts'" in event["message"]
    assert (logs[0]["event"], closed) == ("the start failed", ["tried"])


async def test_websockets_are_closed() -> None:
    served, _ = gateway(hello)
    peer = Peer({"type": "websocket.connect"})
    await ASGIApp(served)({"type": "websocket"}, peer.receive, peer.send)
    assert peer.sent == [{"type": "websocket.close", "code": 1000}]
