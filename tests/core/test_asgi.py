from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup, TaskStatus
from structlog.testing import capture_logs

from core import Chunk, hookimpl
from core.asgi import ASGIApp
from core.config import ServerConfig
from core.config_file import ConfigFile
from core.door import GONE
from core.gateway import Gateway
from tests.core.fakes import gateway
from tests.core.samples import write

BODY_LIMIT = ServerConfig().max_body

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
    assert [name for name, _ in peer.sent[0]["headers"]] == [b"x-kind", b"x-hookline-backend"]
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
@pytest.mark.parametrize("server_tells", [True, False])
async def test_a_client_that_leaves_ends_the_upstream_call(path: str, spoken: bool, server_tells: bool) -> None:
    tells: list[Callable[[], None]] = []
    more = {"extensions": {GONE: {"tell": tells.append}}} if server_tells else {}
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
            group.start_soon(ASGIApp(served), scope(path, **more), peer.receive, peer.send)
            await reached.wait()
            assert upstream.log == ["open"]
            assert len(tells) == server_tells
            for tell in tells or [peer.left.set]:
                tell()
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


async def stuck() -> AsyncIterator[list[Chunk]]:
    yield [{"text": "a"}]
    await anyio.sleep_forever()


async def life(app: ASGIApp, ends: anyio.Event, task_status: TaskStatus[None]) -> None:
    """The app's lifespan, until `ends`."""

    async def receive() -> MutableMapping[str, Any]:
        if not sent:
            return {"type": "lifespan.startup"}
        await ends.wait()
        return {"type": "lifespan.shutdown"}

    async def send(event: MutableMapping[str, Any]) -> None:
        sent.append(event)
        if event["type"] == "lifespan.startup.complete":
            task_status.started()

    sent: list[MutableMapping[str, Any]] = []
    await app({"type": "lifespan"}, receive, send)


@asynccontextmanager
async def living(app: ASGIApp) -> AsyncIterator[TaskGroup]:
    ends = anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            await group.start(partial(life_of, app, ends))
            yield group
            ends.set()


async def life_of(app: ASGIApp, ends: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    await life(app, ends, task_status)


async def until(true: Callable[[], bool]) -> None:
    """Let the others go on until it is so."""
    while not true():
        await anyio.lowlevel.checkpoint()


async def get(app: ASGIApp, path: str, method: str = "GET") -> tuple[int, bytes]:
    peer = Peer(data(b""))
    await app(scope(path, method=method), peer.receive, peer.send)
    return peer.sent[0]["status"], peer.body


async def test_health_and_readiness() -> None:
    served, _ = gateway(hello)
    app = ASGIApp(served)
    assert await get(app, "/healthz") == (200, b"ok\n")
    assert await get(app, "/readyz") == (200, b"ok\n")
    assert await get(app, "/readyz", "HEAD") == (200, b"")
    app.begin_drain()
    assert await get(app, "/healthz") == (200, b"ok\n")
    assert await get(app, "/readyz") == (503, b"draining\n")


@pytest.mark.parametrize("version", ["1.1", "2"])
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_and_readiness_are_only_read(path: str, version: str) -> None:
    served, upstream = gateway(hello)
    peer = Peer(data(b"", more=True))
    await ASGIApp(served)(scope(path, method="POST", http_version=version), peer.receive, peer.send)
    assert (peer.sent[0]["status"], peer.body) == (405, b"method not allowed\n")
    assert (b"allow", b"GET, HEAD") in peer.sent[0]["headers"]
    assert ((b"connection", b"close") in peer.sent[0]["headers"]) is (version == "1.1")
    assert upstream.log == []


async def test_in_the_grace_all_is_served_but_no_more_is_wanted() -> None:
    served, _ = gateway(hello, server=ServerConfig(drain_grace=3, drain_timeout=0.02))
    app = ASGIApp(served)
    assert app.drain_grace == 3
    with capture_logs() as logs:
        app.begin_grace()
        app.begin_grace()
        assert await get(app, "/healthz") == (200, b"ok\n")
        assert await get(app, "/readyz") == (503, b"draining\n")
        peer = Peer(data(b""))
        await app(scope(), peer.receive, peer.send)
    assert peer.body == b"hello<end_turn>"
    assert (b"connection", b"close") in peer.sent[0]["headers"]
    assert not app.draining
    assert [line["event"] for line in logs] == ["leaving", "request"]
    assert logs[0]["seconds"] == 3


async def test_draining_ends_what_runs_when_its_time_is_over() -> None:
    served, upstream = gateway(stuck, server=ServerConfig(drain_timeout=0.02))
    app = ASGIApp(served)
    peer = Peer(data(b""))
    with capture_logs() as logs:
        async with living(app) as group:
            group.start_soon(app, scope("/api/stream"), peer.receive, peer.send)
            await until(lambda: len(peer.sent) >= 2)
            app.begin_drain()
            app.begin_drain()
    assert peer.body == b"a!overloaded: the server is shutting down"
    assert upstream.log == ["open", "closed"]
    assert {line["event"] for line in logs} == {"draining", "request", "ended"}


async def test_the_wish_of_hypercorn_s_master_begins_draining() -> None:
    served, _ = gateway(hello, server=ServerConfig(client_timeout=0.01))
    app = ASGIApp(served)
    asked: list[bool] = []
    app._shutdown_asked = lambda: bool(asked)
    async with living(app):
        assert not app.draining
        asked.append(True)
        await until(lambda: app.draining)


async def test_a_new_request_of_a_draining_server_closes_its_connection() -> None:
    served, _ = gateway(hello)
    app = ASGIApp(served)
    app.begin_drain()
    peer = Peer(data(b""))
    await app(scope(), peer.receive, peer.send)
    assert peer.sent[0]["status"] == 200
    assert (b"connection", b"close") in peer.sent[0]["headers"]


async def test_too_many_at_once_are_told_to_come_again() -> None:
    served, _ = gateway(stuck, server=ServerConfig(max_concurrent=1))
    app = ASGIApp(served)
    first, second = Peer(data(b"")), Peer(data(b""))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(app, scope("/api/stream"), first.receive, first.send)
            await until(lambda: len(first.sent) >= 2)
            await app(scope(), second.receive, second.send)
            assert second.sent[0]["status"] == 529
            assert second.body.startswith(b"!overloaded: the gateway serves as many requests as it may")
            first.left.set()
    third = Peer(data(b""))
    third.left.set()
    await app(scope("/api/refuse"), third.receive, third.send)
    assert third.sent[0]["status"] == 400, "the place of the one that left is free"


async def test_a_body_that_does_not_come_is_a_408() -> None:
    served, upstream = gateway(hello, server=ServerConfig(body_timeout=0.01))
    peer = Peer(data(b"half", more=True))
    with anyio.fail_after(5):
        await ASGIApp(served)(scope(), peer.receive, peer.send)
    assert peer.sent[0]["status"] == 408
    assert peer.body == b"!invalid_request: the request's body did not come within 0.01 seconds"
    assert (b"connection", b"close") in peer.sent[0]["headers"]
    assert upstream.log == []


async def test_a_body_that_ends_in_the_moment_in_which_it_is_late_gets_one_answer() -> None:
    served, upstream = gateway(hello, server=ServerConfig(body_timeout=0.01))
    peer = Peer()

    async def receive() -> MutableMapping[str, Any]:
        time.sleep(0.02)  # the loop is busy: the limit and the body are there in the same turn  # noqa: ASYNC251
        coming: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(coming.set_result, None)
        await coming
        return data(b"{}")

    with anyio.fail_after(5):
        await ASGIApp(served)(scope(), receive, peer.send)
    assert [event["status"] for event in peer.sent if event["type"] == "http.response.start"] == [408]
    assert upstream.log == []


async def test_two_lengths_are_refused() -> None:
    served, upstream = gateway(hello)
    peer = Peer(data(b""))
    headers = [(b"content-length", b"1"), (b"transfer-encoding", b"chunked")]
    await ASGIApp(served)(scope(headers=headers), peer.receive, peer.send)
    assert (peer.sent[0]["status"], upstream.log) == (400, [])
    assert (b"connection", b"close") in peer.sent[0]["headers"]


async def test_a_client_that_takes_nothing_is_cut() -> None:
    class Stalls(Peer):
        async def send(self, event: MutableMapping[str, Any]) -> None:
            await anyio.sleep_forever()

    served, upstream = gateway(stuck, server=ServerConfig(client_timeout=0.02))
    app = ASGIApp(served)
    peer = Stalls(data(b""))
    with capture_logs() as logs:
        async with living(app) as group:
            await app(scope("/api/stream"), peer.receive, peer.send)
            assert group
    assert upstream.log == ["open", "closed"]
    assert [line.get("left") for line in logs] == [True, None]


DEMO = """
[pipelines.messages]
paths = ["/v1"]
plugins = ["anthropic", "models"]
[models]
"NAME" = { backend = "d" }
[backends.d]
plugins = ["demo"]
"""


async def test_a_reload_that_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, DEMO)
    file = ConfigFile(path, {})
    app = ASGIApp(Gateway(file.load()), file)
    path.write_text(DEMO.replace("NAME", "other"))
    async with living(app):
        before = app.gateway
        assert b'"NAME"' in (await get(app, "/v1/models"))[1]
        app.reload()
        await until(lambda: app.gateway is not before)
        assert b'"other"' in (await get(app, "/v1/models"))[1]
        app.begin_drain()
        app.reload()


async def test_without_a_file_there_is_nothing_to_reload() -> None:
    served, _ = gateway(hello)
    app = ASGIApp(served)
    async with living(app):
        app.reload()
        assert app.gateway is served


async def test_draining_ends_the_requests_of_every_generation() -> None:
    limits = ServerConfig(drain_timeout=0.02)
    first, old_upstream = gateway(stuck)
    second, new_upstream = gateway(stuck, server=limits)
    app = ASGIApp(first)
    peers = [Peer(data(b"")), Peer(data(b""))]
    async with living(app) as group:
        for peer in peers:
            group.start_soon(app, scope("/api/stream"), peer.receive, peer.send)
            await until(lambda peer=peer: len(peer.sent) >= 2)  # type: ignore[misc]
            if peer is peers[0]:
                await app._generations.replace(second)
        assert app.drain_timeout == 0.02
        app.begin_drain()
    assert [peer.body for peer in peers] == [b"a!overloaded: the server is shutting down"] * 2
    assert old_upstream.log == new_upstream.log == ["open", "closed"]


async def test_changed_limits_hold_for_the_requests_that_follow() -> None:
    served, _ = gateway(hello)
    app = ASGIApp(served)
    strict, _ = gateway(hello, server=ServerConfig(max_body=1))
    async with living(app):
        await app._generations.replace(strict)
        peer = Peer(data(b"ab"))
        await app(scope(), peer.receive, peer.send)
    assert peer.sent[0]["status"] == 413


@pytest.mark.parametrize("path", ["/api/say", "/api/stream"])
async def test_a_client_that_has_its_whole_answer_has_not_left(path: str) -> None:
    """Hypercorn says `http.disconnect` of every client that has its whole answer; what ends the call goes on."""
    ended: list[str] = []

    class Slow:
        @hookimpl(wrapper=True)
        def call_upstream(self) -> Any:
            call = yield

            @asynccontextmanager
            async def slow() -> AsyncIterator[Any]:
                async with call as batches:
                    yield batches
                    for _ in range(10):
                        await anyio.lowlevel.checkpoint()
                    ended.append("whole")

            return slow()

    class Hypercorn(Peer):
        async def send(self, event: MutableMapping[str, Any]) -> None:
            await super().send(event)
            if event["type"] == "http.response.body" and not event["more_body"]:
                self.left.set()
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()

    served, _ = gateway(hello, Slow())
    peer = Hypercorn(data(b""))
    with capture_logs() as logs:
        await ASGIApp(served)(scope(path), peer.receive, peer.send)
    assert ended == ["whole"]
    assert ["left" in line for line in logs] == [False]
