"""Counting tokens, listing models, and what else clients ask for."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from structlog.testing import capture_logs

from core.request import HTTPRequest
from tests.mapping.ends import Script, Sink
from tests.mapping.wire import ASK, HI, F, Wire

COUNT = "/v1/messages/count_tokens"
MODELS: dict[str, Any] = {
    "models": {
        "claude-*": {"backend": "upstream", "model": "q"},
        "org/one": {"backend": "upstream", "display_name": "One"},
        "two": {"backend": "upstream"},
        "three": {"backend": "upstream"},
    }
}


@pytest.mark.parametrize(
    ("backend", "path", "reply"),
    [
        ("vllm", "/tokenize", {"count": 42, "max_model_len": 4096, "tokens": []}),
        ("sglang", "/tokenize", {"count": 42, "max_model_len": 4096, "tokens": []}),
        ("llama_cpp", "/v1/chat/completions/input_tokens", {"input_tokens": 42}),
        ("tgi", "/chat_tokenize", {"tokenize_response": [{"id": 1}] * 42}),
    ],
)
def test_count_tokens(wire: Wire, backend: str, path: str, reply: Any) -> None:
    body = {"model": "client-model", "messages": [HI], "system": "S", "tools": [F]}
    got = wire.ask(COUNT, body, httpx.Response(200, json=reply), backend=backend)
    assert (got.status, got.json) == (200, {"input_tokens": 42})
    (request,) = got.requests
    assert request.url.path == path
    message = wire.sent(backend, system="S", tools=[F])
    assert got.sent[0]["messages"] == message["messages"]
    assert got.sent[0]["tools"] == message["tools"]


@pytest.mark.parametrize(
    "backend", ["ollama", "openai", "azure", "deepseek", "openrouter", "mistral", "groq", "gemini", "lm_studio"]
)
def test_count_tokens_by_estimate(wire: Wire, backend: str) -> None:
    body = {"model": "client-model", "messages": [{"role": "user", "content": "word " * 400}], "tools": []}
    got = wire.ask(COUNT, body, backend=backend)
    assert (got.status, got.requests) == (200, [])
    assert 400 <= got.json["input_tokens"] <= 600


@pytest.mark.parametrize("reply", [httpx.Response(404, json={"detail": "Not Found"}), httpx.Response(200, text="hm")])
def test_count_tokens_never_fails(wire: Wire, reply: httpx.Response) -> None:
    got = wire.ask(COUNT, {"model": "client-model", "messages": [HI]}, reply, backend="vllm")
    assert got.status == 200
    assert got.json["input_tokens"] > 0


class Slow(Script):
    """An upstream that answers only when it is let go; `most` is how many requests it had at once."""

    def __init__(self) -> None:
        super().__init__([httpx.Response(200, json={"count": 42})])
        self.go = anyio.Event()
        self.most = self.now = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.go.wait()
        self.now -= 1
        return await super().handle_async_request(request)


def test_many_counts_at_once(wire: Wire) -> None:
    """25 of them, five of which ask what another one asks."""
    upstream, sinks = Slow(), [Sink() for _ in range(25)]

    async def run() -> None:
        gateway = wire.assembly("vllm").gateway(upstream)
        async with gateway.running(), anyio.create_task_group() as group:
            for number, sink in enumerate(sinks):
                body = {"model": "client-model", "messages": [{**HI, "content": f"text {number % 20}"}]}
                http = HTTPRequest("POST", COUNT, body=json.dumps(body).encode(), id="req_1")
                group.start_soon(gateway.handle, http, sink)
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            upstream.go.set()

    with capture_logs():
        anyio.run(run)
    assert [json.loads(sink.body) for sink in sinks] == [{"input_tokens": 42}] * 25
    assert (len(upstream.requests), upstream.most) == (20, 4)


def test_count_tokens_fields(wire: Wire) -> None:
    body = {"model": "client-model", "messages": [HI], "speed": "fast", "context_management": {}, "x": 1}
    assert wire.ask(COUNT, body).status == 200
    refused = wire.ask(COUNT, {"model": "client-model"})
    assert refused.json["error"]["message"] == "messages: Field required"


def test_models(wire: Wire) -> None:
    got = wire.ask("/v1/models", options=MODELS, query=b"limit=1000").json
    assert [model["id"] for model in got["data"]] == ["org/one", "two", "three"]
    assert (got["first_id"], got["last_id"], got["has_more"]) == ("org/one", "three", False)
    assert (
        got["data"][0].items()
        >= {
            "type": "model",
            "display_name": "One",
            "created_at": "1970-01-01T00:00:00Z",
            "lifecycle": "active",
            "capabilities": None,
        }.items()
    )


def test_models_limits(wire: Wire) -> None:
    table = {"models": {"two": {"backend": "upstream", "context": 32768, "max_output_tokens": 8192}}}
    (model,) = wire.ask("/v1/models", options=table).json["data"]
    assert (model["max_input_tokens"], model["max_tokens"]) == (32768, 8192)


def test_models_of_a_backend(wire: Wire) -> None:
    table = {"models": {"*": {"backend": "upstream", "list": True}, "mine": {"backend": "upstream"}}}
    served = httpx.Response(200, json={"data": [{"id": "Qwen/Qwen3", "created": 1700000000, "max_model_len": 32768}]})
    got = wire.ask("/v1/models", None, served, options=table)
    mine, theirs = got.json["data"]
    assert (mine["id"], theirs["id"], theirs["max_input_tokens"]) == ("mine", "Qwen/Qwen3", 32768)
    assert theirs["created_at"] == "2023-11-14T22:13:20Z"


def test_models_pages(wire: Wire) -> None:
    seen, query = [], b"limit=2"
    while True:
        page = wire.ask("/v1/models", options=MODELS, query=query).json
        seen.append([model["id"] for model in page["data"]])
        if not page["has_more"]:
            break
        query = b"limit=2&after_id=" + page["last_id"].encode()
    assert seen == [["org/one", "two"], ["three"]]


def test_model(wire: Wire) -> None:
    for path in ("/v1/models/org%2Fone", "/v1/models/org/one"):
        assert wire.ask(path, options=MODELS).json["display_name"] == "One"
    of_a_glob = wire.ask("/v1/models/claude-x", options=MODELS).json
    assert (of_a_glob["type"], of_a_glob["id"], of_a_glob["display_name"]) == ("model", "claude-x", "claude-x")
    got = wire.ask("/v1/models/four", options=MODELS)
    assert (got.status, got.json["error"]["message"]) == (404, "model: four")


def test_head(wire: Wire) -> None:
    got = wire.ask("/", method="HEAD")
    assert (got.status, got.body, got.requests) == (200, b"", [])


def test_everything_else(wire: Wire) -> None:
    for path in ("/v1/files", "/v1/messages/batches", "/v1/organizations"):
        got = wire.ask(path, ASK)
        assert (got.status, got.json["error"]["type"]) == (404, "not_found_error")
