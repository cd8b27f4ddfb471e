"""The SDK's error classes, its retries and its patience."""

from __future__ import annotations

from typing import Any

import anthropic
import anyio
import pytest

from core.testing import Exchange, UpstreamAnswer, UpstreamReply
from tests.clients.python.asking import QUESTION, ask, parts
from tests.clients.stage import Stage, refusal

FAULTS: list[tuple[Any, UpstreamReply, int, str]] = [
    (anthropic.BadRequestError, refusal(400, "bad"), 400, "invalid_request_error"),
    (anthropic.BadRequestError, refusal(422, "bad"), 400, "invalid_request_error"),
    (anthropic.NotFoundError, refusal(404, "bad"), 404, "not_found_error"),
    (anthropic.RateLimitError, refusal(429, "bad", retry_after="7"), 429, "rate_limit_error"),
    (anthropic.InternalServerError, refusal(500, "bad"), 500, "api_error"),
    (anthropic.APIStatusError, refusal(503, "bad"), 529, "overloaded_error"),
    # The upstream refuses the gateway's key: nothing that the client could mend.
    (anthropic.InternalServerError, refusal(401, "bad"), 502, "api_error"),
    (anthropic.InternalServerError, UpstreamReply(b"<html>", 502, content_type="text/html"), 502, "api_error"),
]


@pytest.mark.parametrize("mode", ["whole", "stream"])
@pytest.mark.parametrize(("error", "reply", "status", "kind"), FAULTS, ids=lambda value: str(value)[:40])
def test_an_upstream_s_error(
    client: anthropic.Anthropic, stage: Stage, mode: Any, error: Any, reply: UpstreamReply, status: int, kind: str
) -> None:
    model = stage.play("openai-fault", reply)
    with pytest.raises(error) as caught:
        ask(client, mode, model)
    fault = caught.value
    assert fault.status_code == status
    assert fault.body["type"] == "error"
    assert fault.body["error"]["type"] == kind
    assert fault.body["request_id"] == fault.request_id == fault.response.headers["request-id"]
    assert fault.response.headers.get("retry-after") == reply.headers.get("retry-after")
    assert len(stage.requests(model)) == 1


def test_what_the_gateway_itself_refuses(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="model: nobody"):
        ask(client, "whole", "nobody")
    with pytest.raises(anthropic.BadRequestError, match="messages: at least one message is required"):
        ask(client, "stream", "openai-x", messages=[])
    with pytest.raises(anthropic.NotFoundError, match="no such endpoint"):
        client.messages.batches.list()


def test_a_body_over_the_limit(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.RequestTooLargeError) as caught:
        ask(client, "whole", "openai-large", messages=[{"role": "user", "content": "x" * 33 * 1024 * 1024}])
    assert caught.value.status_code == 413
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == "request_too_large"


@pytest.mark.parametrize(
    "first", [refusal(429, "slow down", retry_after="1"), refusal(503, "full")], ids=["429", "503"]
)
def test_the_sdk_tries_again(client: anthropic.Anthropic, stage: Stage, first: UpstreamReply) -> None:
    model = stage.play("openai-again", first, UpstreamAnswer(text="Now."))
    message = ask(client.with_options(max_retries=1), "stream", model)
    assert parts(message) == [("text", "Now.")]
    assert len(stage.requests(model)) == 2


@pytest.mark.parametrize("word", ["insufficient_quota", ""], ids=["quota", "credentials"])
def test_the_sdk_does_not_try_again_what_cannot_mend(client: anthropic.Anthropic, stage: Stage, word: str) -> None:
    model = stage.play("openai-hopeless", refusal(429 if word else 401, "no", word=word))
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask(client.with_options(max_retries=2), "whole", model)
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert len(stage.requests(model)) == 1


def silent(_: Exchange) -> UpstreamReply:
    return UpstreamReply(hold_head=anyio.Event())


@pytest.mark.parametrize("mode", ["whole", "stream"])
def test_the_sdk_s_time_limit(client: anthropic.Anthropic, stage: Stage, mode: Any) -> None:
    model = stage.play("openai-silent", silent)
    with pytest.raises(anthropic.APITimeoutError):
        ask(client.with_options(timeout=0.3), mode, model)
    (request,) = stage.requests(model)
    stage.upstream.portal.call(request.peer_closed)
    assert request.outcome == "closed"


def test_the_gateway_s_time_limit(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("hasty-silent", silent)
    with pytest.raises(anthropic.InternalServerError) as caught:
        ask(client, "stream", model)
    assert caught.value.status_code == 504
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == "timeout_error"


def test_a_prompt_that_is_too_long(client: anthropic.Anthropic, stage: Stage) -> None:
    said = "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens."
    model = stage.play("vllm-long", refusal(400, said, word="BadRequestError"))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 5000 tokens > 4096 maximum"):
        ask(client, "whole", model, messages=[QUESTION])
