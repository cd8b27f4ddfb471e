"""Fields at the top of a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.config import Secret
from core.testing import UpstreamAnswer
from tests.mapping.wire import ASK, BACKENDS, HI, F, Wire

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
PLAIN = {"model": "upstream-model", "messages": [HI], "max_tokens": 256}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"anthropic-version": "2023-06-01"},
        {"anthropic-version": "2026-10-21", "anthropic-beta": "no-such-2030-01-01,files-api"},
        {"anthropic-version": "never", "x-stainless-timeout": "NOT_GIVEN", "anthropic-workspace-id": "w"},
    ],
)
def test_headers(wire: Wire, headers: dict[str, str]) -> None:
    body = {**ASK, "temperature": 0.5}
    got = wire.ask("/v1/messages", body, headers=headers, query=b"beta=true&x=1")
    assert got.status == 200
    assert got.sent == [{**PLAIN, "temperature": 0.5, "stream": False}]


def test_the_clients_key(wire: Wire) -> None:
    keys = {"x-api-key": "sk-ant-secret", "authorization": "Bearer sk-ant-secret", "cookie": "sk-ant-secret"}
    got = wire.ask("/v1/messages", ASK, headers=keys)
    assert got.status == 200
    assert "sk-ant-secret" not in str(got.requests[0].headers.raw)
    for backend, header in (("openai", "authorization"), ("azure", "api-key")):
        own = {"backend": {"key": Secret("sk-own")}}
        sent = wire.ask("/v1/messages", ASK, headers=keys, backend=backend, options=own).requests[0].headers
        assert sent[header] == ("Bearer sk-own" if header == "authorization" else "sk-own")
        assert "sk-ant-secret" not in str(sent.raw)


def test_model(wire: Wire) -> None:
    table = {"models": {"claude-*": {"backend": "upstream", "model": "qwen3"}, "llama": {"backend": "upstream"}}}
    for model, sent in (("claude-opus-5-5", "qwen3"), ("llama", "llama")):
        reply = wire.ask("/v1/messages", {**ASK, "model": model}, options=table)
        assert reply.sent[0]["model"] == sent
        assert reply.json["model"] == model
    unknown = wire.ask("/v1/messages", {**ASK, "model": "gpt-2"}, options=table)
    assert (unknown.status, unknown.requests) == (404, [])
    assert unknown.json["error"] == {"type": "not_found_error", "message": "model: gpt-2"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_max_tokens(wire: Wire, backend: str) -> None:
    body = wire.sent(backend, max_tokens=9)
    limits = {name: value for name, value in body.items() if "max" in name}
    assert limits == {"max_completion_tokens" if backend == "azure" else "max_tokens": 9}
    table = {"dialect": {"max_tokens_field": "max_completion_tokens"}}
    assert wire.sent(max_tokens=9, options=table)["max_completion_tokens"] == 9


def test_max_tokens_above_the_cap(wire: Wire) -> None:
    table = {"models": {"*": {"backend": "upstream", "max_output_tokens": 8192}}}
    assert wire.sent(max_tokens=128000, options=table)["max_tokens"] == 8192
    assert wire.sent(max_tokens=100, options=table)["max_tokens"] == 100
    both: dict[str, Any] = {**table, "dialect": {"max_tokens_limit": 4096}}
    assert wire.sent(max_tokens=128000, options=both)["max_tokens"] == 4096


def test_max_tokens_above_the_window(wire: Wire) -> None:
    table = {"models": {"*": {"backend": "upstream", "context": 8192}}}
    assert 8000 < wire.sent(max_tokens=128000, options=table)["max_tokens"] < 8192
    assert wire.sent(max_tokens=100, options=table)["max_tokens"] == 100


def test_extra_body(wire: Wire) -> None:
    table = {"models": {"*": {"backend": "upstream", "extra_body": {"min_p": 0.1}}}}
    assert (
        wire.sent(options={**table, "backend": {"extra_body": {"seed": 7}}}).items()
        >= {"seed": 7, "min_p": 0.1}.items()
    )


def test_max_tokens_0(wire: Wire) -> None:
    assert wire.sent(max_tokens=0)["max_tokens"] == 1
    message = wire.answer(UpstreamAnswer(text="H", finish_reason="length"), max_tokens=0)
    assert (message["content"], message["stop_reason"]) == ([], "max_tokens")
    assert message["usage"]["input_tokens"] == 11


@pytest.mark.parametrize("backend", BACKENDS)
def test_stream(wire: Wire, backend: str) -> None:
    replies = wire.replies(UpstreamAnswer(), backend)
    for mode, reply in replies.items():
        asks = mode.upstream and backend not in ("mistral", "transformers_serve")
        assert reply.sent["stream"] is mode.upstream
        assert reply.sent.get("stream_options") == ({"include_usage": True} if asks else None)
        assert reply.headers["content-type"].startswith("text/event-stream" if mode.client else "application/json")


def test_system(wire: Wire) -> None:
    blocks = [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}]
    wanted = [{"role": "system", "content": "Be kind.\n\nBe brief."}, HI]
    assert wire.messages(HI, system=blocks) == wanted
    assert wire.messages(HI, system="Be kind.\n\nBe brief.") == wanted
    developer = {"dialect": {"system_role": "developer"}}
    assert wire.messages(HI, system="Be kind.", options=developer)[0] == {"role": "developer", "content": "Be kind."}


def test_billing_note(wire: Wire) -> None:
    note = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.332; cch=abc;"}
    blocks = [note, {"type": "text", "text": "Be kind."}]
    assert wire.messages(HI, system=blocks) == [{"role": "system", "content": "Be kind."}, HI]
    assert wire.messages(HI, system=[note]) == [HI]
    longer = [{"type": "text", "text": f"{note['text']}\nBe kind."}]
    assert wire.messages(HI, system=longer) == [{"role": "system", "content": "Be kind."}, HI]


def test_temperature_and_top_p(wire: Wire) -> None:
    assert wire.sent(temperature=0.7, top_p=0.9) == {**PLAIN, "temperature": 0.7, "top_p": 0.9}
    assert wire.sent(temperature=0.7, options={"dialect": {"sampling": False}}) == PLAIN


def test_temperature_above_1(wire: Wire) -> None:
    assert wire.refused(temperature=1.5) == "temperature: Input should be less than or equal to 1"
    assert wire.refused(top_p=1.5) == "top_p: Input should be less than or equal to 1"
    assert wire.refused(temperature=-0.5) == "temperature: Input should be greater than or equal to 0"
    assert wire.sent(temperature=1) == {**PLAIN, "temperature": 1.0}


def test_top_k(wire: Wire) -> None:
    assert wire.sent("vllm", top_k=40) == {**PLAIN, "top_k": 40}
    assert wire.sent("openai", top_k=40) == PLAIN


@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_sequences(wire: Wire, backend: str) -> None:
    telling = backend in ("vllm", "sglang", "llama_cpp", "tensorrt_llm")
    assert wire.sent(backend, stop_sequences=["END", "FIN"]).get("stop") == (["END", "FIN"] if telling else None)
    assert ("stop" in wire.sent(backend, stop_sequences=["END"])) == (telling or backend == "tgi")
    assert wire.sent(backend, stop_sequences=["END", "FIN", "END"]) == wire.sent(backend, stop_sequences=["END", "FIN"])
    assert "stop" not in wire.sent(backend, stop_sequences=[])


@pytest.mark.parametrize(("backend", "most"), [("vllm", 4), ("sglang", 32)])
def test_too_many_stop_sequences(wire: Wire, backend: str, most: int) -> None:
    asked = [f"stop {number}" for number in range(most + 1)]
    assert wire.sent(backend, stop_sequences=asked[:most])["stop"] == asked[:most]
    assert wire.refused(backend, stop_sequences=asked) == (
        f"stop_sequences: this model's server takes at most {most}, the request has {most + 1}"
    )
    assert wire.sent("llama_cpp", stop_sequences=asked)["stop"] == asked
    assert "stop" not in wire.sent("openai", stop_sequences=asked)


def test_blank_stop_sequence(wire: Wire) -> None:
    assert wire.refused(stop_sequences=["END", "\n"]) == (
        "stop_sequences: each stop sequence must contain non-whitespace"
    )


def test_user_id(wire: Wire) -> None:
    assert wire.sent(metadata={"user_id": '{"device_id":"d","session_id":"s"}'}) == PLAIN


def test_fields_with_no_counterpart(wire: Wire) -> None:
    dropped: dict[str, Any] = {
        "service_tier": "auto",
        "speed": "fast",
        "cache_control": {"type": "ephemeral"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "diagnostics": {"previous_message_id": "msg_1"},
        "inference_geo": "eu",
        "billing_policy": "x",
        "fallback_credit_token": "x",
        "tags": ["a"],
        "output_config": {"task_budget": {"type": "tokens", "total": 9}},
        "no_such_field": {"a": [1]},
    }
    assert wire.sent(**dropped) == PLAIN
    answer = wire.ask("/v1/messages", {**ASK, **dropped}).json
    assert not answer.keys() & dropped.keys()


def test_cache_control(wire: Wire) -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = wire.sent(
        system=[{"type": "text", "text": "S", **mark}],
        tools=[{**F, **mark}],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "Hi", **mark}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}, **mark}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r", **mark}]},
        ],
    )
    assert "cache_control" not in json.dumps(body)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_output_format(wire: Wire, backend: str) -> None:
    form = {"type": "json_schema", "schema": SCHEMA}
    body = wire.sent(backend, output_config={"format": form})
    assert wire.sent(backend, output_format=form) == body
    if backend in ("deepseek", "transformers_serve"):
        assert body.get("response_format") == ({"type": "json_object"} if backend == "deepseek" else None)
        assert body["messages"][0]["role"] == "system"
        assert json.dumps(SCHEMA, separators=(",", ":")) in body["messages"][0]["content"]
    else:
        schema = {"name": "response", "schema": SCHEMA}
        assert body["response_format"] == {"type": "json_schema", "json_schema": schema}
        assert body["messages"] == [HI]
    streamed = wire.ask("/v1/messages", {**ASK, "stream": True, "output_format": form}, backend=backend)
    assert streamed.sent[0]["stream"] is (backend != "groq")


def test_output_format_strict(wire: Wire) -> None:
    def strict(**fields: Any) -> Any:
        schema = {**SCHEMA, "additionalProperties": False, **fields}
        body = wire.sent(output_config={"format": {"type": "json_schema", "schema": schema}})
        return body["response_format"]["json_schema"].get("strict")

    assert strict() is True
    assert strict(additionalProperties=True) is None
    assert strict(required=[]) is None
    assert strict(properties={"a": {"type": "object", "properties": {}}}) is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_output_format_beside_tools(wire: Wire, backend: str) -> None:
    form = {"type": "json_schema", "schema": SCHEMA}
    body = wire.sent(backend, output_config={"format": form}, tools=[F])
    apart = ("vllm", "sglang", "llama_cpp", "tgi", "groq", "gemini", "transformers_serve")
    assert ("response_format" in body) is (backend not in apart)
    in_words = backend in (*apart, "deepseek")
    assert (json.dumps(SCHEMA, separators=(",", ":")) in body["messages"][0]["content"]) is in_words
    assert body["tools"] == wire.sent(backend, tools=[F])["tools"]


def test_thread(wire: Wire) -> None:
    got = wire.ask("/v1/messages", {**ASK, "thread": {"type": "create"}})
    assert (got.status, got.requests) == (400, [])
    assert got.json["error"]["details"] == {"error_code": "thread_unsupported_request"}
    assert got.json["error"]["message"].startswith("thread: ")


@pytest.mark.parametrize(
    ("field", "value", "nothing"),
    [
        ("container", {"skills": [{"skill_id": "pdf", "type": "anthropic"}]}, {"skills": []}),
        ("mcp_servers", [{"type": "url", "url": "https://a.example", "name": "a"}], []),
        ("fallbacks", [{"model": "claude-haiku-4-5"}], "default"),
        ("compaction", {"type": "summarize"}, None),
        ("safeguards", [{"type": "dangerous_tool_use"}], []),
    ],
)
def test_state_of_another_server(wire: Wire, field: str, value: Any, nothing: Any) -> None:
    assert wire.refused(**{field: value}).startswith(f"{field}: ")
    assert wire.sent(**{field: nothing}) == PLAIN


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
    ],
)
def test_faulty_fields(wire: Wire, fields: dict[str, Any], message: str) -> None:
    assert wire.refused(**fields) == message


def test_half_a_character(wire: Wire) -> None:
    assert wire.messages({"role": "user", "content": "cut \ud83d"}) == [{"role": "user", "content": "cut \ufffd"}]
