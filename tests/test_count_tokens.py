"""`POST /v1/messages/count_tokens` through the whole gateway: what the engine is asked, and what the client is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import attrs
import httpx
import pytest
import structlog.testing

from core.request import HTTPRequest
from core.testing import Assembly
from core.testing.assemble import UPSTREAM_MODEL

TOOL = {"name": "get_weather", "description": "The weather of a city", "input_schema": {"type": "object"}}
BODY: Mapping[str, Any] = {
    "model": "client-model",
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
    "tools": [TOOL],
}
Engine = Callable[[httpx.Request], httpx.Response]


@attrs.define
class Collected:
    """A sink."""

    status: int = 0
    body: bytes = b""
    gone: bool = True

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.status = status

    async def send(self, data: bytes, more: bool) -> None:
        self.body += data


def count(plugin: str, engine: Engine, path: str = "/messages/count_tokens", **changed: Any) -> tuple[int, Any]:
    """Status and JSON body of one answer."""
    sink = Collected()
    body = json.dumps({**BODY, **changed}).encode()
    http = HTTPRequest("POST", f"/v1{path}", headers=[(b"content-type", b"application/json")], body=body)

    async def run() -> None:
        gateway = Assembly([plugin]).gateway(httpx.MockTransport(engine))
        async with gateway.running():
            await gateway.handle(http, sink)

    with structlog.testing.capture_logs() as logs:
        anyio.run(run)
    assert [line for line in logs if line["event"] == "fault"] == []
    return sink.status, json.loads(sink.body)


@attrs.define
class Answering:
    """An engine that answers every request the same, and keeps what it was asked."""

    answer: Any
    status: int = 200
    asked: list[tuple[str, Any]] = attrs.field(factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((request.url.path, json.loads(request.content)))
        return httpx.Response(self.status, json=self.answer)


COMPLETION = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
WAYS = [
    ("vllm", "/tokenize", {"count": 42, "max_model_len": 4096, "tokens": []}),
    ("sglang", "/tokenize", {"count": 42}),
    ("llama_cpp", "/v1/chat/completions/input_tokens", {"input_tokens": 42}),
    ("tgi", "/chat_tokenize", {"tokenize_response": [{"id": 1}] * 42, "templated_text": ""}),
]


@pytest.mark.parametrize(("plugin", "path", "answer"), WAYS)
def test_the_engine_counts_what_a_message_would_be(plugin: str, path: str, answer: Any) -> None:
    engine = Answering(answer)
    assert count(plugin, engine) == (200, {"input_tokens": 42})
    ((asked, body),) = engine.asked
    assert asked == path
    message = Answering(COMPLETION)
    assert count(plugin, message, "/messages", max_tokens=5)[0] == 200
    sent = message.asked[0][1]
    assert body["model"] == UPSTREAM_MODEL
    assert {key: body.get(key) for key in ("messages", "tools")} == {key: sent[key] for key in ("messages", "tools")}


@pytest.mark.parametrize(("plugin", "path", "answer"), WAYS)
@pytest.mark.parametrize("status", [404, 500])
def test_without_an_answer_the_count_is_estimated(plugin: str, path: str, answer: Any, status: int) -> None:
    engine = Answering({"error": {"message": "no"}}, status)
    found, body = count(plugin, engine)
    assert (found, body.keys()) == (200, {"input_tokens"})
    assert 10 < body["input_tokens"] < 100
    assert len(engine.asked) == 1


@pytest.mark.parametrize("plugin", ["openai", "ollama", "deepseek"])
def test_an_engine_that_cannot_count_is_not_asked(plugin: str) -> None:
    engine = Answering(COMPLETION)
    bare = count(plugin, engine, tools=[])[1]["input_tokens"]
    whole = count(plugin, engine)[1]["input_tokens"]
    longer = count(plugin, engine, system="Be brief. " * 100)[1]["input_tokens"]
    assert 0 < bare < whole < longer
    assert engine.asked == []


def test_an_engine_that_is_not_there_fails_nobody() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    assert count("vllm", gone)[0] == 200
