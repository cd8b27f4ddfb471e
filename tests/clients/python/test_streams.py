"""Streams as the SDK reads them: raw events, its helper, a break in the middle, and many at once."""

from __future__ import annotations

from typing import Any

import anthropic
import anyio
import pytest
from anthropic.types import MessageParam

from core.testing import Exchange, UpstreamAnswer, UpstreamReply
from tests.clients.python.asking import QUESTION
from tests.clients.stage import Stage
from tests.server.gateway import GatewayProcess

THOUGHTFUL = UpstreamAnswer(text="Two words", reasoning="Hm.", reasoning_fields=("reasoning",))


def test_raw_events(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("vllm-raw-events", THOUGHTFUL)
    stream = client.messages.create(model=model, max_tokens=9, messages=[QUESTION], stream=True)
    events: list[Any] = list(stream)
    kinds = [event.type for event in events if event.type != "content_block_delta"]
    block = ["content_block_start", "content_block_stop"]
    assert kinds == ["message_start", *block, *block, "message_delta", "message_stop"]
    deltas = [(event.index, event.delta) for event in events if event.type == "content_block_delta"]
    assert "".join(delta.text for index, delta in deltas if index == 1) == "Two words"
    assert [delta.type for index, delta in deltas if index == 0][-1] == "signature_delta"
    assert events[-2].delta.stop_reason == "end_turn"
    assert events[-2].usage.output_tokens == 7


def test_the_helper(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("vllm-helper", THOUGHTFUL)
    with client.messages.stream(model=model, max_tokens=9, messages=[QUESTION]) as stream:
        texts = list(stream.text_stream)
        assert "".join(texts) == stream.get_final_text() == "Two words"
        assert stream.get_final_message().usage.output_tokens == 7
    assert all(texts)  # pieces that came in one read may come as one
    assert stream.response.headers["request-id"].startswith("req_")
    assert stream.response.headers["content-type"].startswith("text/event-stream")


def test_a_stream_that_breaks_raises_after_what_came(client: anthropic.Anthropic, stage: Stage) -> None:
    broken = UpstreamAnswer(text="Half of", error={"message": "out of memory", "code": 500})
    model = stage.play("vllm-broken", broken)
    texts: list[str] = []
    manager = client.messages.stream(model=model, max_tokens=9, messages=[QUESTION])
    with pytest.raises(anthropic.APIStatusError, match="out of memory") as caught, manager as stream:
        texts.extend(stream.text_stream)
    assert "".join(texts) == "Half of"
    assert caught.value.body == {
        "type": "error",
        "error": {"type": "api_error", "message": "out of memory"},
        "request_id": stream.response.headers["request-id"],
    }


def test_a_client_that_leaves_ends_the_upstream(client: anthropic.Anthropic, stage: Stage) -> None:
    def endless(_: Exchange) -> UpstreamReply:
        answer = UpstreamAnswer(text="word " * 50)
        return UpstreamReply.answer(answer, stream=True, hold=anyio.Event(), hold_at=len(answer.sse()) // 2)

    model = stage.play("vllm-leaves", endless)
    with client.messages.stream(model=model, max_tokens=9, messages=[QUESTION]) as stream:
        assert next(iter(stream.text_stream)).startswith("word")
    (request,) = stage.requests(model)
    stage.upstream.portal.call(request.peer_closed)
    assert request.outcome == "closed"


@pytest.mark.anyio
async def test_fifty_streams_at_once(gateway: GatewayProcess, stage: Stage) -> None:
    def echo(exchange: Exchange) -> UpstreamReply:
        said = exchange.json["messages"][-1]["content"]
        return UpstreamReply.answer(UpstreamAnswer(text=said * 20, reasoning=said), stream=True, cut=37)

    model = stage.play("openai-many", echo)
    answers: dict[int, tuple[Any, str]] = {}

    async def one(client: anthropic.AsyncAnthropic, number: int) -> None:
        question: MessageParam = {"role": "user", "content": f"<{number}>"}
        async with client.messages.stream(model=model, max_tokens=99, messages=[question]) as stream:
            text = "".join([piece async for piece in stream.text_stream])
            answers[number] = (await stream.get_final_message()).content[0], text

    client = anthropic.AsyncAnthropic(base_url=gateway.url, api_key="client-key", max_retries=0, timeout=30)
    async with client, anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(one, client, number)
    assert {number: text for number, (_, text) in answers.items()} == {n: f"<{n}>" * 20 for n in range(50)}
    assert all(first.thinking == f"<{number}>" for number, (first, _) in answers.items())
    assert len(stage.requests(model)) == 50
