"""Errors of the upstream and of the gateway."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import attrs
import httpx
import pytest

from core import hookimpl
from core.chat import Call, ProblemField
from core.testing import Assembly, replay
from tests.mapping.wire import ASK, HI, Wire


def body(message: str, **fields: Any) -> bytes:
    return json.dumps({"error": {"message": message, "type": "x", "param": None, "code": None, **fields}}).encode()


@pytest.mark.parametrize(
    ("backend", "said", "wanted"),
    [
        (
            "vllm",
            "This model's maximum context length is 4096 tokens. However, your prompt contains 5000 input tokens, "
            "which exceeds this limit even without any output tokens.",
            "prompt is too long: 5000 tokens > 4096 maximum",
        ),
        (
            "openai",
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
        (
            "sglang",
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            "prompt is too long: 5000 tokens > 4096 maximum",
        ),
        (
            "lmdeploy",
            "Input length (5000) must be smaller than the model context length (4096).",
            "prompt is too long: 5000 tokens > 4096 maximum",
        ),
        (
            "tgi",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. "
            "Given: 4000 `inputs` tokens and 200 `max_new_tokens`",
            "input length and `max_tokens` exceed context limit: 4000 + 200 > 4096, "
            "decrease input length or `max_tokens` and try again",
        ),
    ],
)
def test_prompt_too_long(wire: Wire, backend: str, said: str, wanted: str) -> None:
    reply = wire.error(422 if backend == "tgi" else 400, body(said), backend=backend)
    assert (reply.status, reply.error) == (400, {"type": "invalid_request_error", "message": wanted})


def test_prompt_too_long_with_its_numbers_in_fields(wire: Wire) -> None:
    told = {"code": 400, "message": "too much", "type": "exceed_context_size_error"}
    reply = wire.error(
        400, json.dumps({"error": {**told, "n_prompt_tokens": 5000, "n_ctx": 4096}}).encode(), backend="llama_cpp"
    )
    assert reply.error == {
        "type": "invalid_request_error",
        "message": "prompt is too long: 5000 tokens > 4096 maximum",
    }


@pytest.mark.parametrize(
    ("backend", "said", "over", "most"),
    [
        (
            "openai",
            "max_tokens is too large: 128000. This model supports at most 16384 completion tokens.",
            128000,
            16384,
        ),
        ("deepseek", "Invalid max_tokens value, the valid range of max_tokens is [1, 128]", 256, 128),
        ("groq", "`max_tokens` must be less than or equal to `128`, the maximum value for `max_tokens`", 256, 128),
        (
            "gemini",
            "maxOutputTokens value of 256 but the supported range is from 1 (inclusive) to 129 (exclusive)",
            256,
            128,
        ),
    ],
)
def test_max_tokens_above_the_engines(wire: Wire, backend: str, said: str, over: int, most: int) -> None:
    reply = wire.error(400, body(said), backend=backend)
    wanted = f"max_tokens: {over} > {most}, which is the maximum allowed number of output tokens for this model"
    assert reply.error == {"type": "invalid_request_error", "message": wanted}


def test_the_apis_own_words(wire: Wire) -> None:
    said = "prompt is too long: 5000 tokens > 4096 maximum"
    assert wire.error(400, body(said)).error == {"type": "invalid_request_error", "message": said}


def test_moderation(wire: Wire) -> None:
    said = 'm requires moderation on P. Your input was flagged for "x". No credits were charged.'
    metadata = {"reasons": ["x"], "flagged_input": "Hi", "provider_name": "P"}
    reply = wire.error(403, body(said, code=403, metadata=metadata), backend="openrouter")
    assert (reply.status, reply.error) == (400, {"type": "invalid_request_error", "message": said})


def test_the_provider_behind(wire: Wire) -> None:
    said = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."
    raw = {"raw": body(said).decode(), "provider_name": "P"}
    reply = wire.error(400, body("Provider returned error", code=400, metadata=raw), backend="openrouter")
    wanted = "prompt is too long: 5000 tokens > 4096 maximum"
    assert (reply.status, reply.error) == (400, {"type": "invalid_request_error", "message": wanted})


def test_image_that_the_model_cannot_read(wire: Wire) -> None:
    said = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
    reply = wire.error(500, body(said, code=500, type="server_error"), backend="llama_cpp")
    assert (reply.status, reply.error) == (400, {"type": "invalid_request_error", "message": said})


@pytest.mark.parametrize("code", ["tool_use_failed", "json_validate_failed"])
def test_failed_generation(wire: Wire, code: str) -> None:
    told = {"type": "invalid_request_error", "code": code, "failed_generation": "<function=f>"}
    reply = wire.error(400, body("its words", **told), backend="groq")
    assert (reply.status, reply.error) == (502, {"type": "api_error", "message": "its words"})
    assert "x-should-retry" not in reply.headers


@pytest.mark.parametrize(
    ("status", "client", "kind"),
    [
        (400, 400, "invalid_request_error"),
        (422, 400, "invalid_request_error"),
        (402, 402, "billing_error"),
        (404, 404, "not_found_error"),
        (405, 502, "api_error"),
        (407, 502, "api_error"),
        (418, 400, "invalid_request_error"),
        (424, 502, "api_error"),
        (499, 502, "api_error"),
        (408, 504, "timeout_error"),
        (413, 413, "request_too_large"),
        (429, 429, "rate_limit_error"),
        (498, 529, "overloaded_error"),
        (500, 500, "api_error"),
        (502, 502, "api_error"),
        (503, 529, "overloaded_error"),
        (504, 504, "timeout_error"),
        (524, 504, "timeout_error"),
        (529, 529, "overloaded_error"),
        (599, 502, "api_error"),
    ],
)
def test_status(wire: Wire, status: int, client: int, kind: str) -> None:
    reply = wire.error(status, body("its words"))
    assert (reply.status, reply.error) == (client, {"type": kind, "message": "its words"})


@pytest.mark.parametrize("status", [401, 403])
def test_the_gateways_key_is_refused(wire: Wire, status: int) -> None:
    reply = wire.error(status, body("Incorrect API key provided: sk-abc123def456."))
    assert (reply.status, reply.headers["x-should-retry"]) == (502, "false")
    assert reply.error is not None
    assert reply.error["type"] == "api_error"
    assert reply.error["message"].startswith("the upstream refused the gateway's credentials: ")
    assert "sk-abc123def456" not in reply.error["message"]


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"retry-after": "7"}, "7"), ({"retry-after-ms": "1500"}, "2"), ({}, None)]
)
def test_retry_after(wire: Wire, headers: dict[str, str], seconds: str | None) -> None:
    reply = wire.error(429, body("slow down"), headers={"content-type": "application/json", **headers})
    assert reply.headers.get("retry-after") == seconds


def test_quota(wire: Wire) -> None:
    reply = wire.error(429, body("You exceeded your current quota", code="insufficient_quota"))
    assert (reply.status, reply.headers["x-should-retry"]) == (429, "false")


@pytest.mark.parametrize(
    ("upstream", "message"),
    [
        (b'{"error":"its words"}', "its words"),
        (b'{"object":"error","message":"its words","code":400}', "its words"),
        (b'{"detail":"its words"}', "its words"),
        (b'{"detail":[{"loc":["body","stop"],"msg":"its words"}]}', "stop: its words"),
        (b'[{"error":{"code":400,"message":"its words","status":"INVALID_ARGUMENT"}}]', "its words"),
        (b"its words", "its words"),
        (b"<html><head><title>its words</title></head></html>", "its words"),
        (b"", "the upstream answered 400 without a word"),
    ],
)
def test_shapes(wire: Wire, upstream: bytes, message: str) -> None:
    reply = wire.error(400, upstream)
    assert (reply.status, reply.error) == (400, {"type": "invalid_request_error", "message": message})


@attrs.frozen(eq=False)
class OwnErrors:
    """A wrapper that has the call read an engine's own errors."""

    @hookimpl(wrapper=True)
    def call_upstream(self) -> Generator[None, Call, Call]:
        call = yield
        words = {"overload": "overloaded"}
        own = ProblemField("problem", message="why", word="kind", words=words, retry_after="retry-in")
        return attrs.evolve(call, problem=own)


@pytest.mark.parametrize("stream", [True, False])
def test_the_engines_own_shape(stream: bool) -> None:
    assembly = Assembly(["vllm", OwnErrors])
    own = b'{"problem": {"why": "its words", "kind": "overload"}}'
    for status, data in ((503, own), (200, own), (200, b"data: " + own + b"\n\n")):
        reply = replay(assembly, [data], stream=stream, status=status, headers={"retry-in": "7"})
        assert (reply.status, reply.error) == (529, {"type": "overloaded_error", "message": "its words"})
        assert reply.headers["retry-after"] == "7"


def test_error_with_status_200(wire: Wire) -> None:
    reply = wire.error(200, b'{"error":{"code":429,"message":"its words"}}', backend="openrouter")
    assert (reply.status, reply.error) == (429, {"type": "rate_limit_error", "message": "its words"})


@pytest.mark.parametrize("finish", ["error", "abort", "insufficient_system_resource"])
def test_finish_reasons_of_failure(wire: Wire, finish: str) -> None:
    data = json.dumps({"choices": [{"index": 0, "message": {"content": "A"}, "finish_reason": finish}]}).encode()
    reply = wire.error(200, data)
    assert (reply.status, reply.error) == (
        502,
        {"type": "api_error", "message": f"the upstream broke off its answer ({finish})"},
    )


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        (httpx.ConnectError("refused by upstream.invalid"), 529, "overloaded_error"),
        (httpx.ConnectTimeout("slow"), 504, "timeout_error"),
        (httpx.ReadTimeout("slow"), 504, "timeout_error"),
    ],
)
def test_no_answer(wire: Wire, fault: Exception, status: int, kind: str) -> None:
    for stream in (False, True):
        got = wire.ask("/v1/messages", {**ASK, "stream": stream}, fault)
        assert (got.status, got.json["error"]["type"]) == (status, kind)
        assert "upstream.invalid" not in got.json["error"]["message"]


def test_connection_cut(wire: Wire) -> None:
    for stream in (False, True):
        reply = replay(["openai"], [], request=ASK, stream=stream, fails=httpx.RemoteProtocolError("gone"))
        assert reply.error is not None
        assert (reply.status, reply.error["type"]) == (502, "api_error")


def test_envelope(wire: Wire) -> None:
    got = wire.ask("/v1/messages", {"messages": [HI]})
    assert (got.status, got.headers["request-id"]) == (400, "req_1")
    assert got.json == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "model: Field required"},
        "request_id": "req_1",
    }


@pytest.mark.parametrize(
    ("path", "method", "data", "status", "kind"),
    [
        ("/v1/messages", "POST", b"{", 400, "invalid_request_error"),
        ("/v1/messages", "POST", b"[]", 400, "invalid_request_error"),
        ("/v1/messages", "GET", None, 405, "invalid_request_error"),
        ("/v1/complete", "POST", b"{}", 404, "not_found_error"),
        ("/v1/messages/batches", "POST", b"{}", 404, "not_found_error"),
        ("/elsewhere", "GET", None, 404, "not_found_error"),
    ],
)
def test_of_the_gateway(wire: Wire, path: str, method: str, data: bytes | None, status: int, kind: str) -> None:
    got = wire.ask(path, data, method=method)
    assert (got.status, got.json["error"]["type"]) == (status, kind)
    assert got.requests == []
