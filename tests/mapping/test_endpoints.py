"""Counting tokens, listing models, and what else clients ask for."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

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
    got = wire.ask("/v1/models/four", options=MODELS)
    assert (got.status, got.json["error"]["message"]) == (404, "model: four")


def test_head(wire: Wire) -> None:
    got = wire.ask("/", method="HEAD")
    assert (got.status, got.body, got.requests) == (200, b"", [])


def test_everything_else(wire: Wire) -> None:
    for path in ("/v1/files", "/v1/messages/batches", "/v1/organizations"):
        got = wire.ask(path, ASK)
        assert (got.status, got.json["error"]["type"]) == (404, "not_found_error")
