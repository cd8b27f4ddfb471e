from __future__ import annotations

from typing import Any

import anyio
import attrs
import pytest

from core.chat import Dialect, UpstreamClient
from core.chat.counting import Way, count_body, count_in, count_prompt, count_url
from core.config import BackendConfig, Secret
from core.errors import RequestError
from core.estimate import estimate_input_tokens
from core.testing import Exchange, MockUpstream, UpstreamReply
from tests.core.chat.network import HI, client_of

pytestmark = pytest.mark.anyio

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "chat_template_kwargs": {"enable_thinking": False},
    "temperature": 0.5,
}
ASK = attrs.evolve(HI, task="count_tokens")
ESTIMATE = estimate_input_tokens(ASK)
COUNTED = UpstreamReply.json({"count": 42, "max_model_len": 4096, "tokens": [1, 2]})


def body() -> dict[str, Any]:
    return BODY


@pytest.mark.parametrize(
    ("way", "base", "expected"),
    [
        ("tokenize", "http://h:8000/v1", "http://h:8000/tokenize"),
        ("tokenize", "http://h:8000", "http://h:8000/tokenize"),
        ("tokenize", "http://h:8000/team/v1/", "http://h:8000/team/tokenize"),
        ("tokenize", "http://h/v1/chat/completions", "http://h/tokenize"),
        ("tokenize", "http://h/openai/v1beta/openai", "http://h/openai/tokenize"),
        ("tokenize", "http://h/a%2Fb/v1", "http://h/a%2Fb/tokenize"),
        ("chat_tokenize", "http://h/v1", "http://h/chat_tokenize"),
        ("input_tokens", "http://h/v1", "http://h/v1/chat/completions/input_tokens"),
        ("input_tokens", "http://h/team?a=1", "http://h/team/v1/chat/completions/input_tokens?a=1"),
    ],
)
def test_where_is_asked(way: Way, base: str, expected: str) -> None:
    assert str(count_url(way, base)) == expected


def test_the_operator_s_query_goes_along() -> None:
    assert str(count_url("tokenize", "http://h/v1?a=1", {"b": "2 3"})) == "http://h/tokenize?a=1&b=2+3"


def test_beside_another_endpoint() -> None:
    assert str(count_url("tokenize", "http://h/base", endpoint="/v2/chat")) == "http://h/base/tokenize"
    assert str(count_url("input_tokens", "http://h", endpoint="/v2/chat")) == "http://h/v2/chat/input_tokens"


def test_what_is_asked() -> None:
    assert count_body("tokenize", BODY) == {
        "add_generation_prompt": True,
        "model": "m",
        "messages": BODY["messages"],
        "tools": BODY["tools"],
        "chat_template_kwargs": {"enable_thinking": False},
    }
    continued = {**BODY, "add_generation_prompt": False, "continue_final_message": True}
    assert count_body("tokenize", continued)["add_generation_prompt"] is False
    assert count_body("tokenize", continued)["continue_final_message"] is True
    for way in ("input_tokens", "chat_tokenize"):
        expected = {key: value for key, value in BODY.items() if not key.startswith("stream")}
        assert count_body(way, BODY) == expected


@pytest.mark.parametrize(
    ("effort", "switches", "expected"),
    [
        ("low", {}, {"reasoning_effort": "low", "enable_thinking": True}),
        ("none", None, {"reasoning_effort": "none", "enable_thinking": False}),
        ("high", {"enable_thinking": False}, {"reasoning_effort": "high", "enable_thinking": False}),
    ],
)
def test_the_effort_reaches_the_template(effort: str, switches: Any, expected: dict[str, Any]) -> None:
    sent = {**BODY, "reasoning_effort": effort, "chat_template_kwargs": switches}
    asked = count_body("tokenize", sent)
    assert asked["chat_template_kwargs"] == expected
    assert "reasoning_effort" not in asked
    assert sent["chat_template_kwargs"] == switches


@pytest.mark.parametrize(
    ("way", "answer", "expected"),
    [
        ("tokenize", {"count": 42, "tokens": []}, 42),
        ("input_tokens", {"input_tokens": 42}, 42),
        ("chat_tokenize", {"tokenize_response": [{"id": 1}, {"id": 2}], "templated_text": "x"}, 2),
        ("chat_tokenize", {"tokenize_response": {"tokens": [1, 2, 3]}}, 3),
        ("tokenize", {"input_tokens": 42}, None),
        ("tokenize", {"count": 0}, None),
        ("tokenize", {"count": True}, None),
        ("tokenize", {"count": "42"}, None),
        ("tokenize", [42], None),
        ("chat_tokenize", {"tokenize_response": []}, None),
        ("chat_tokenize", None, None),
    ],
)
def test_what_is_answered(way: Way, answer: Any, expected: int | None) -> None:
    assert count_in(way, answer) == expected


async def test_the_engine_s_count() -> None:
    async with MockUpstream(COUNTED) as upstream, client_of(upstream.url, key=Secret("sesame")) as client:
        assert await count_prompt(ASK, client, way="tokenize", body=body) == 42
    (exchange,) = upstream.exchanges
    assert (exchange.method, exchange.path) == ("POST", "/tokenize")
    assert exchange.json["messages"] == BODY["messages"]
    assert exchange.headers["authorization"] == "Bearer sesame"


async def test_another_url_is_asked_where_the_call_has_one() -> None:
    async with MockUpstream(COUNTED) as upstream, client_of("http://127.0.0.1:9/v1") as client:
        assert await count_prompt(ASK, client, way="tokenize", body=body, url=upstream.url) == 42


@pytest.mark.parametrize(
    "reply",
    [
        UpstreamReply.json({"detail": "Not Found"}, status=404),
        UpstreamReply.json({"error": "busy"}, status=503),
        UpstreamReply.json({"error": "no"}, status=401),
        UpstreamReply(b"<html>", 200),
        UpstreamReply.json({"something": "else"}),
        UpstreamReply.json({"count": 42}, end="reset", stop_after=5),
        UpstreamReply(b"", 200, headers={"content-encoding": "gzip"}),
    ],
)
async def test_a_failing_engine_does_not_fail_the_client(reply: UpstreamReply) -> None:
    async with MockUpstream(reply) as upstream, client_of(upstream.url) as client:
        assert await count_prompt(ASK, client, way="tokenize", body=body) == ESTIMATE
    assert len(upstream.exchanges) == 1


async def test_an_engine_that_is_not_there_does_not_fail_the_client() -> None:
    async with client_of("http://127.0.0.1:9/v1") as client:
        assert await count_prompt(ASK, client, way="tokenize", body=body) == ESTIMATE


async def test_a_body_that_cannot_be_said_does_not_fail_the_client() -> None:
    def refused() -> dict[str, Any]:
        raise RequestError("tools.0: no")

    async with MockUpstream(COUNTED) as upstream, client_of(upstream.url) as client:
        assert await count_prompt(ASK, client, way="tokenize", body=refused) == ESTIMATE
    assert upstream.exchanges == []


async def test_an_engine_without_a_tokenizer_is_not_asked() -> None:
    async with MockUpstream(COUNTED) as upstream, client_of(upstream.url) as client:
        assert await count_prompt(ASK, client, way=Dialect().count, body=body) == ESTIMATE
    assert upstream.exchanges == []
    client = UpstreamClient(BackendConfig("up", ("demo",)))
    assert await count_prompt(ASK, client, way="tokenize", body=body) == ESTIMATE
    await client.aclose()


async def test_many_at_once_do_not_crowd_the_engine() -> None:
    gate = anyio.Event()

    def step(exchange: Exchange) -> UpstreamReply:
        return UpstreamReply.json({"count": len(exchange.json["messages"])}, hold_head=gate)

    found: dict[int, int] = {}

    async def one(number: int) -> None:
        asked = {**BODY, "messages": BODY["messages"] * (number // 2 + 1)}
        found[number] = await count_prompt(ASK, client, way="tokenize", body=lambda: asked)

    async with MockUpstream(step) as upstream, client_of(upstream.url) as client:
        async with anyio.create_task_group() as tasks:
            for number in range(24):
                tasks.start_soon(one, number)
            await upstream.exchange(3)
            await anyio.wait_all_tasks_blocked()
            assert len(upstream.exchanges) == 4
            gate.set()
        assert upstream.connections <= 4
    assert found == {number: number // 2 + 1 for number in range(24)}
    assert len(upstream.exchanges) == 12
