"""count_tokens and the list of models."""

from __future__ import annotations

from datetime import UTC

import anthropic
import pytest
from anthropic.types import ToolParam

from core.testing import UpstreamAnswer
from tests.clients.conftest import LISTED
from tests.clients.python.asking import QUESTION
from tests.clients.stage import TOKENS, Stage

TOOL: ToolParam = {"name": "look", "input_schema": {"type": "object", "properties": {}}}


def test_tokens_are_counted_by_the_engine(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("vllm-count", UpstreamAnswer())
    counted = client.messages.count_tokens(model=model, messages=[QUESTION], system="Be short.", tools=[TOOL])
    assert counted.input_tokens == TOKENS
    (asked,) = [exchange.json for exchange in stage.counts if exchange.json["model"] == model]
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert not stage.requests(model), "counting must not generate"


def test_tokens_are_estimated_where_the_engine_cannot_count(client: anthropic.Anthropic, stage: Stage) -> None:
    model = stage.play("ollama-count", UpstreamAnswer())
    short = client.messages.count_tokens(model=model, messages=[QUESTION])
    long = client.messages.count_tokens(model=model, messages=[{"role": "user", "content": "What is it? " * 100}])
    assert 1 <= short.input_tokens < 40
    assert 100 < long.input_tokens < 1200
    assert not stage.requests(model)


def test_models_come_in_pages(client: anthropic.Anthropic) -> None:
    first = client.models.list(limit=2)
    assert ([model.id for model in first.data], first.has_more) == (list(LISTED[:2]), True)
    assert [model.id for model in client.models.list(limit=2)] == list(LISTED)
    assert [model.id for model in client.models.list()] == list(LISTED)
    before = client.models.list(before_id=LISTED[2], limit=1)
    assert [model.id for model in before.data] == [LISTED[1]]


def test_a_model_with_a_slash_in_its_name(client: anthropic.Anthropic) -> None:
    model = client.models.retrieve("org/two")
    assert (model.id, model.display_name, model.type) == ("org/two", "org/two", "model")
    assert model.created_at.tzinfo is UTC or model.created_at.utcoffset() is not None
    with pytest.raises(anthropic.NotFoundError, match="model: org/nobody"):
        client.models.retrieve("org/nobody")
