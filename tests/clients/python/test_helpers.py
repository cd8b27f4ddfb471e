"""The SDK's newest helpers: the tool runner, which would have the server keep the conversation, and `parse`."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pydantic
import pytest
from anthropic import beta_tool
from anthropic.types.beta import BetaMessageParam

from core.testing import UpstreamAnswer, UpstreamToolCall
from tests.clients.python.asking import MAJOR, QUESTION
from tests.clients.stage import Stage

THREADS = pytest.mark.skipif(MAJOR < 2, reason="this SDK has no threads")
SAID: BetaMessageParam = {"role": "user", "content": "What is it?"}
CALLS = (
    UpstreamToolCall("add", '{"a":1,"b":2}', "call_a"),
    UpstreamToolCall("add", '{"a":3,"b":4}', "call_b"),
)
CALLED = UpstreamAnswer(text="Adding.", tool_calls=CALLS, finish_reason="tool_calls")
TOTAL = UpstreamAnswer(text="3 and 7.")


class City(pydantic.BaseModel):
    """What `parse` shall give."""

    name: str
    people: int


@beta_tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_the_tool_runner(client: anthropic.Anthropic, stage: Stage, stream: bool) -> None:
    model = stage.play("vllm-runner", CALLED, TOTAL)
    asked: dict[str, Any] = {"model": model, "max_tokens": 99, "messages": [QUESTION], "tools": [add]}
    if stream:
        final = None
        for turn in client.beta.messages.tool_runner(**asked, stream=True):
            final = turn.get_final_message()
    else:
        final = client.beta.messages.tool_runner(**asked).until_done()
    assert final is not None
    assert [block.text for block in final.content if block.type == "text"] == ["3 and 7."]
    first, second = stage.bodies(model)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["add"]
    assert second["tools"] == first["tools"]
    question, called, *results = second["messages"]
    assert [question] == first["messages"]
    assert called["content"] == "Adding."
    assert [call["id"] for call in called["tool_calls"]] == [result["tool_call_id"] for result in results]
    assert [(result["role"], result["content"]) for result in results] == [("tool", "3"), ("tool", "7")]


@THREADS
@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}])
def test_a_thread_is_refused_in_the_word_that_helpers_know(
    client: anthropic.Anthropic, stage: Stage, thread: Any
) -> None:
    model = stage.play("vllm-thread", UpstreamAnswer())
    with pytest.raises(anthropic.BadRequestError, match="thread") as caught:
        client.beta.messages.create(model=model, max_tokens=9, messages=[SAID], thread=thread)
    body: Any = caught.value.body
    assert body["error"]["details"]["error_code"] == "thread_unsupported_request"
    assert type(caught.value).__name__ == "ThreadUnsupportedRequestError"
    assert not stage.requests(model)


@pytest.mark.parametrize("mode", ["parse", "stream"])
def test_parse_gives_the_model(client: anthropic.Anthropic, stage: Stage, mode: str) -> None:
    model = stage.play("vllm-parse", UpstreamAnswer(text=json.dumps({"name": "Bern", "people": 134_000})))
    asked: dict[str, Any] = {"model": model, "max_tokens": 99, "messages": [QUESTION], "output_format": City}
    if mode == "parse":
        message = client.messages.parse(**asked)
    else:
        with client.messages.stream(**asked) as stream:
            message = stream.get_final_message()
    assert message.parsed_output == City(name="Bern", people=134_000)
    (body,) = stage.bodies(model)
    wanted = body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["name"]
    schema = wanted["json_schema"]["schema"]
    assert (schema["required"], schema["additionalProperties"]) == (["name", "people"], False)
