"""The gateway as users run it, on real sockets: Hypercorn before it, a scripted upstream behind it."""

from __future__ import annotations

import json
import signal
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply, fold
from tests.server.gateway import GatewayProcess, running
from tests.server.processes import wait_until

pytestmark = pytest.mark.anyio

CLOSED_WITHIN = 0.5
"""Seconds in which the upstream must see that the client has left."""

SAY = {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}
HELLO = UpstreamAnswer(text="Hello.", reasoning="Hm.")


@pytest.fixture(scope="module")
def upstream() -> Iterator[MockUpstream]:
    """The upstream that all gateways of this module share; each test gives it its next replies."""
    replies: list[UpstreamReply] = []
    made = MockUpstream(lambda exchange: replies.pop(0))
    made.replies = replies  # type: ignore[attr-defined]
    with made.in_thread():
        yield made


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, upstream: MockUpstream
) -> Iterator[GatewayProcess]:
    tables = f'[models]\n"m" = {{ backend = "up" }}\n[backends.up]\nplugins = ["vllm"]\nurl = "{upstream.url}"\n'
    with running(tmp_path_factory.mktemp(request.param), tables, "-k", request.param) as gateway:
        yield gateway


def body(*, stream: bool, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 50, "stream": stream, "messages": [{"role": "user", "content": "hi"}], **more}


def play(upstream: MockUpstream, *replies: UpstreamReply) -> int:
    """Set the next replies; the number of the exchange that takes the first."""
    upstream.replies[:] = replies  # type: ignore[attr-defined]
    return len(upstream.exchanges)


class Leaver:
    """A client that sends a request, may read, and then resets its connection."""

    def __init__(self, url: str, *, stream: bool) -> None:
        parsed = httpx.URL(url)
        self.socket = socket.create_connection((parsed.host, parsed.port or 80), timeout=10)
        data = json.dumps(body(stream=stream)).encode()
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(data)
        self.socket.sendall(head + data)

    def read(self) -> None:
        """Wait for the answer's first bytes of content."""
        seen = b""
        while b"text_delta" not in seen:
            seen += self.socket.recv(65536)

    def leave(self) -> float:
        """Reset the connection; when."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        return time.monotonic()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("spoken", [True, False])
def test_a_client_that_leaves_ends_the_generation(
    served: GatewayProcess, upstream: MockUpstream, stream: bool, spoken: bool
) -> None:
    hold = anyio.Event()
    reply = UpstreamReply.sse([SAY], hold=hold) if spoken else UpstreamReply.sse([], hold_head=hold)
    number = play(upstream, reply)
    leaver = Leaver(served.url, stream=stream)
    exchange = upstream.portal.call(upstream.exchange, number)
    if spoken and stream:
        leaver.read()
    left = leaver.leave()
    closed = upstream.portal.call(exchange.peer_closed)
    assert closed - left < CLOSED_WITHIN


def test_a_client_that_leaves_a_flood_ends_it_too(served: GatewayProcess, upstream: MockUpstream) -> None:
    flood = UpstreamReply.sse([SAY] * 200_000)
    number = play(upstream, flood)
    leaver = Leaver(served.url, stream=True)
    exchange = upstream.portal.call(upstream.exchange, number)
    leaver.read()
    left = leaver.leave()
    assert upstream.portal.call(exchange.peer_closed) - left < 2 * CLOSED_WITHIN


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/", "/v1/messages?beta=true"])
@pytest.mark.parametrize("stream", [True, False])
async def test_one_answer_in_both_modes(
    served: GatewayProcess, upstream: MockUpstream, path: str, stream: bool
) -> None:
    play(upstream, UpstreamReply.answer(HELLO, stream=stream))
    async with httpx.AsyncClient(base_url=served.url) as client:
        reply = await client.post(path, json=body(stream=stream), headers={"x-api-key": "k", "anthropic-beta": "a,b"})
    assert reply.status_code == 200
    message = fold(reply.content).message if stream else reply.json()
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]
    assert message["model"] == "m"
    assert reply.headers["request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/", 200),
        ("GET", "/", 404),
        ("GET", "/v1/messages", 405),
        ("POST", "/v1/nothing", 404),
        ("GET", "/v2/models", 404),
    ],
)
async def test_what_is_not_there_is_said_in_the_envelope(
    served: GatewayProcess, method: str, path: str, status: int
) -> None:
    async with httpx.AsyncClient(base_url=served.url) as client:
        reply = await client.request(method, path)
    assert reply.status_code == status
    if method != "HEAD":
        told = reply.json()
        assert (told["type"], told["request_id"]) == ("error", reply.headers["request-id"])


async def test_many_requests_on_one_connection(served: GatewayProcess, upstream: MockUpstream) -> None:
    play(upstream, *[UpstreamReply.answer(HELLO, stream=False)] * 20)
    before = upstream.connections
    async with httpx.AsyncClient(base_url=served.url) as client:
        for _ in range(20):
            assert (await client.post("/v1/messages", json=body(stream=False))).status_code == 200
            assert (await client.post("/v1/messages", content=b"{")).status_code == 400
    assert upstream.connections - before <= 1


async def test_slow_upstreams_do_not_queue_up(served: GatewayProcess, upstream: MockUpstream) -> None:
    hold = anyio.Event()
    number = play(upstream, *[UpstreamReply.answer(HELLO, stream=False, hold_head=hold)] * 10)
    done: list[int] = []

    async def ask(client: httpx.AsyncClient) -> None:
        done.append((await client.post("/v1/messages", json=body(stream=False))).status_code)

    async with httpx.AsyncClient(base_url=served.url, timeout=20) as client, anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask, client)
        for each in range(10):
            await anyio.to_thread.run_sync(partial(upstream.portal.call, upstream.exchange, number + each))
        assert done == []
        upstream.portal.call(hold.set)
    assert done == [200] * 10


async def read_lines(path: Path) -> AsyncIterator[dict[str, Any]]:
    async with await anyio.open_file(path) as file:
        async for line in file:
            if line.startswith("{"):
                yield json.loads(line)


async def test_one_line_per_request(served: GatewayProcess, upstream: MockUpstream) -> None:
    play(upstream, UpstreamReply.answer(HELLO, stream=True))
    async with httpx.AsyncClient(base_url=served.url) as client:
        reply = await client.post("/v1/messages", json=body(stream=True), headers={"x-api-key": "sk-secret-1"})
    mine: list[dict[str, Any]] = []
    with anyio.fail_after(10):
        while not mine:  # it comes in a moment, with those of others
            await anyio.sleep(0.01)
            mine = [line async for line in read_lines(served.log) if line.get("id") == reply.headers["request-id"]]
    assert len(mine) == 1
    assert (mine[0]["model"], mine[0]["backend"], mine[0]["stop_reason"]) == ("m", "up", "end_turn")
    assert b"sk-secret" not in served.log.read_bytes()


def test_no_worker_outlives_its_master(tmp_path: Path) -> None:
    tables = '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'
    with running(tmp_path, tables, "-k", "uvloop", "--workers", "2") as gateway:
        gateway.end(signal.SIGKILL)
        port = int(gateway.url.rpartition(":")[2])

        def gone() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) != 0

        wait_until(gone)
