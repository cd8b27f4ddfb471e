"""`capture` in a whole gateway: what it writes can be replayed byte for byte."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import attrs
import httpx
import pytest
from structlog.testing import capture_logs

from core.chat import UpstreamClient
from core.config.file import read_config
from core.errors import ConfigError
from core.gateway import Gateway
from core.loader import load
from core.request import HTTPRequest
from core.testing import Captured, UpstreamAnswer, replay
from core.testing.replay import Answer, Network
from tests.core.fakes import Collected

pytestmark = pytest.mark.anyio
ASK = {"model": "m", "max_tokens": 9, "stop_sequences": ["5"], "messages": [{"role": "user", "content": "Hi 🦜"}]}
WIRE = UpstreamAnswer(text="1, 2 🦜", reasoning="Hm.", choice={"stop_reason": "5"}, reasoning_fields=("reasoning",))
KEY = "backend-sesame"


@asynccontextmanager
async def serving(folder: Path, transport: httpx.AsyncBaseTransport, plugin: str = "vllm") -> AsyncIterator[Gateway]:
    """A gateway that captures into `folder`/captured, its one server's network replaced."""
    url = f'url = "http://up.invalid"\nkey = "{KEY}"\n' if plugin != "demo" else ""
    (folder / "pipelines.toml").write_text(
        '[pipelines.p]\npaths = ["/v1"]\nplugins = ["anthropic", "models", "capture"]\n'
        f'[capture]\ndirectory = "{folder / "captured"}"\n[models]\n"m" = {{ backend = "b" }}\n'
        f'[backends.b]\nplugins = ["{plugin}"]\n{url}'
    )
    loaded = load(read_config(folder / "pipelines.toml", {}), {})
    (pipeline,) = loaded.pipelines
    back = pipeline.backs["b"]
    client = UpstreamClient(back.client.backend, transport)
    pipeline = attrs.evolve(pipeline, backs={"b": attrs.evolve(back, client=client)})
    gateway = Gateway(attrs.evolve(loaded, pipelines=(pipeline,)))
    async with gateway.running():
        yield gateway


async def ask(gateway: Gateway, path: str = "/v1/messages", method: str = "POST", **more: Any) -> Collected:
    sink = Collected()
    headers = ((b"content-type", b"application/json"), (b"x-api-key", b"client-sesame"))
    body = json.dumps({**ASK, **more}).encode()
    await gateway.handle(HTTPRequest(method, path, headers=headers, body=body, id="req_1"), sink)
    return sink


def files(folder: Path) -> list[Path]:
    return sorted((folder / "captured").iterdir())


async def test_serving_says_that_exchanges_are_written(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with serving(tmp_path, Network()):
            assert files(tmp_path) == []
    assert [line["event"] for line in logs] == ["capture is on: prompts and answers are written"]


@pytest.mark.parametrize("stream", [True, False])
async def test_an_exchange_is_written_and_replays_byte_for_byte(tmp_path: Path, stream: bool) -> None:
    network = Network()
    wire = WIRE.wire(stream=stream)
    pieces = [wire[at : at + 50] for at in range(0, len(wire), 50)]
    network.answer = Answer(pieces)
    async with serving(tmp_path, network) as gateway:
        sink = await ask(gateway, stream=stream)
    (file,) = files(tmp_path)
    assert "sesame" not in file.read_text()
    captured = Captured.load(file)
    assert (captured.answer, captured.status) == (sink.body, 200)
    assert captured.http.path == "/messages"
    assert captured.request == {**ASK, "stream": stream}
    (call,) = captured.calls
    assert list(call.pieces) == pieces
    assert json.loads(call.sent) == network.answer.sent
    reply = await anyio.to_thread.run_sync(lambda: replay(["vllm"], **captured.arguments))
    assert [block["type"] for block in reply.message["content"]] == ["thinking", "text"]
    assert reply.message["stop_sequence"] == "5"
    assert {**reply.sent, "model": "m"} == json.loads(call.sent)


async def test_a_refusal_of_the_upstream_is_written_with_its_answer(tmp_path: Path) -> None:
    network = Network()
    network.answer = Answer([b'{"error": {"message": "full of ', KEY.encode(), b'"}}'], 429)
    async with serving(tmp_path, network) as gateway:
        sink = await ask(gateway)
    captured = Captured.load(files(tmp_path)[0])
    assert captured.calls[0].pieces[1] == b"*" * len(KEY)
    assert (captured.calls[0].status, captured.status, captured.answer) == (429, 429, sink.body)


async def test_a_refusal_of_the_request_is_written_without_a_call(tmp_path: Path) -> None:
    async with serving(tmp_path, Network()) as gateway:
        sink = await ask(gateway, max_tokens="many")
    captured = Captured.load(files(tmp_path)[0])
    assert (captured.calls, captured.status, captured.answer) == ((), 400, sink.body)


async def test_a_client_that_leaves_leaves_what_came_until_then(tmp_path: Path) -> None:
    sent = anyio.Event()

    class Sticks(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield WIRE.wire(stream=True)[:40]
            sent.set()
            await anyio.sleep_forever()

    class Slow(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=Sticks())

    async with serving(tmp_path, Slow()) as gateway, anyio.create_task_group() as group:
        group.start_soon(ask, gateway)
        await sent.wait()
        group.cancel_scope.cancel()
    captured = Captured.load(files(tmp_path)[0])
    assert captured.calls[0].pieces == (WIRE.wire(stream=True)[:40],)
    assert captured.status == 0


async def test_a_backend_without_a_server_has_request_and_answer(tmp_path: Path) -> None:
    async with serving(tmp_path, Network(), "demo") as gateway:
        sink = await ask(gateway)
    captured = Captured.load(files(tmp_path)[0])
    assert (captured.calls, captured.answer) == ((), sink.body)


async def test_a_look_at_the_server_is_no_exchange(tmp_path: Path) -> None:
    async with serving(tmp_path, Network()) as gateway:
        await ask(gateway, "/v1", "HEAD")
    assert files(tmp_path) == []


async def test_a_directory_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "captured").touch()
    with pytest.raises(ConfigError) as caught:
        async with serving(tmp_path, Network()):
            pass
    assert f"[pipelines.p]: plugin 'capture': {tmp_path / 'captured'} is no directory" in str(caught.value)
