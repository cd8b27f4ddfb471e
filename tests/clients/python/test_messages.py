"""`messages.create` and the stream helper: one answer, whichever way it is asked for."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic.types import MessageParam, ToolParam

from core.testing import UpstreamAnswer, UpstreamToolCall
from tests.clients.python.asking import QUESTION, Mode, ask, parts
from tests.clients.stage import Stage
from tests.server.gateway import GatewayProcess

WEATHER: ToolParam = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
CALL = UpstreamToolCall("weather", '{"city":"Zürich"}', "call_9")
both = pytest.mark.parametrize("mode", ["whole", "stream"])


@both
def test_an_answer(client: anthropic.Anthropic, stage: Stage, mode: Mode) -> None:
    answer = UpstreamAnswer(text="It is 🎯.", reasoning="Let me see.", reasoning_fields=("reasoning",))
    model = stage.play("vllm-answer", answer)
    message = ask(client, mode, model, system="Be short.", stop_sequences=["END"])
    assert parts(message) == [("thinking", "Let me see."), ("text", "It is 🎯.")]
    assert (message.model, message.role, message.type) == (model, "assistant", "message")
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 7)
    assert message.id.startswith("msg_")
    (body,) = stage.bodies(model)
    assert body["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "What is it?"},
    ]
    assert (body["stream"], body["stop"], body["max_tokens"]) == (mode == "stream", ["END"], 400)


@both
def test_a_stop_sequence_is_named(client: anthropic.Anthropic, stage: Stage, mode: Mode) -> None:
    model = stage.play("vllm-stop", UpstreamAnswer(text="1, 2", choice={"stop_reason": ", 3"}))
    message = ask(client, mode, model, stop_sequences=[", 3"])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", ", 3")


@both
def test_thinking_goes_back_where_the_engine_wants_it(client: anthropic.Anthropic, stage: Stage, mode: Mode) -> None:
    answer = UpstreamAnswer(text="It is.", reasoning="Is it?", reasoning_fields=("reasoning",))
    sent = {}
    for model in ("vllm-thought", "openai-thought"):
        stage.play(model, answer)
        first = ask(client, mode, model)
        assert parts(first) == [("thinking", "Is it?"), ("text", "It is.")]
        turn: MessageParam = {"role": "assistant", "content": first.content}
        ask(client, mode, model, messages=[QUESTION, turn, {"role": "user", "content": "Sure?"}])
        sent[model] = stage.bodies(model)[1]["messages"][1]
    assert sent["vllm-thought"] == {"role": "assistant", "content": "It is.", "reasoning": "Is it?"}
    assert sent["openai-thought"] == {"role": "assistant", "content": "It is."}


@both
def test_a_tool_is_called_and_answered(client: anthropic.Anthropic, stage: Stage, mode: Mode) -> None:
    called = UpstreamAnswer(text=None, tool_calls=(CALL,), finish_reason="tool_calls")
    model = stage.play("ollama-tool", called, UpstreamAnswer(text="Sunny."))
    message = ask(client, mode, model, tools=[WEATHER])
    (call,) = message.content
    assert call.type == "tool_use"
    assert (call.name, call.input, message.stop_reason) == ("weather", {"city": "Zürich"}, "tool_use")
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": "sun", "is_error": False}
    history: list[Any] = [
        QUESTION,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [result]},
    ]
    assert parts(ask(client, mode, model, tools=[WEATHER], messages=history)) == [("text", "Sunny.")]
    _, asked, told = stage.bodies(model)[1]["messages"]
    assert [call["function"]["name"] for call in asked["tool_calls"]] == ["weather"]
    assert told == {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "sun"}


def test_the_raw_response_has_its_id(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("vllm-raw", UpstreamAnswer())
    raw = client.messages.with_raw_response.create(model=model, max_tokens=9, messages=[QUESTION])
    assert raw.headers["request-id"].startswith("req_")
    assert raw.headers["content-type"] == "application/json"
    message = raw.parse()
    assert message._request_id == raw.headers["request-id"]
    assert parts(message) == [("text", "Hello.")]


@pytest.mark.parametrize(
    "login",
    [
        {"api_key": "client-secret"},
        {"auth_token": "client-secret"},
        {"auth_token": "client-secret", "default_headers": {"x-api-key": "client-secret"}},
    ],
    ids=["key", "token", "both"],
)
def test_each_way_to_log_in(gateway: GatewayProcess, stage: Stage, login: dict[str, Any]) -> None:
    model = stage.play("openai-login", UpstreamAnswer())
    with anthropic.Anthropic(base_url=gateway.url, max_retries=0, **login) as client:
        assert parts(ask(client, "whole", model)) == [("text", "Hello.")]
    (request,) = stage.requests(model)
    assert "client-secret" not in str(request.headers), "the client's key is the gateway's business alone"


def test_what_the_gateway_does_not_know_is_no_fault(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("openai-query", UpstreamAnswer())
    message = client.messages.create(
        model=model,
        max_tokens=9,
        messages=[QUESTION],
        extra_query={"beta": "true"},
        extra_headers={"anthropic-beta": "no-such-beta-2027-01-01", "anthropic-version": "2027-01-01"},
        extra_body={"temperature": 0.5, "no_such_field": {"a": 1}},
    )
    assert parts(message) == [("text", "Hello.")]
    (body,) = stage.bodies(model)
    assert body["temperature"] == 0.5
    assert "no_such_field" not in body
