"""The official SDK, the gateway and a real llama.cpp server: what a user sees."""

from __future__ import annotations

from typing import Any, Literal

import anthropic
import pytest
from anthropic.types import Message, MessageParam, ToolParam

from tests.engine.conftest import Engine
from tests.server.processes import wait_until

pytestmark = pytest.mark.engine

WEATHER: ToolParam = {
    "name": "get_weather",
    "description": "Get the weather for a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
COOL = {"temperature": 0.0}
"""The SDK itself has no temperature any more."""
Mode = Literal["whole", "stream"]
both = pytest.mark.parametrize("mode", ["whole", "stream"])


def ask(client: anthropic.Anthropic, mode: Mode, said: str | list[MessageParam], **fields: Any) -> Message:
    """One answer, in either mode; a stream is folded by the SDK."""
    messages: list[MessageParam] = [{"role": "user", "content": said}] if isinstance(said, str) else said
    asked: dict[str, Any] = {"model": "tiny-counter", "max_tokens": 400, "messages": messages, "extra_body": COOL}
    if mode == "whole":
        return client.messages.create(**asked | fields)  # type: ignore[no-any-return]
    with client.messages.stream(**asked | fields) as stream:
        return stream.get_final_message()


def parts(message: Message) -> list[tuple[str, str]]:
    """Type and text of each block."""
    shown = {"thinking": "thinking", "text": "text", "tool_use": "name"}
    return [(block.type, getattr(block, shown[block.type])) for block in message.content]


@both
@pytest.mark.parametrize("model", ["tiny-counter", "embedded"])
def test_an_answer_is_thought_and_text(client: anthropic.Anthropic, mode: Mode, model: str) -> None:
    message = ask(client, mode, "Count to 10.", model=model)
    (first, thought), (second, text) = parts(message)
    assert (first, thought.strip()) == ("thinking", "The user wants the numbers from 1 to 10.")
    assert (second, text) == ("text", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")
    assert (message.model, message.role, message.stop_reason, message.stop_sequence) == (
        model,
        "assistant",
        "end_turn",
        None,
    )
    assert message.id.startswith("msg_")
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens > 20


def test_text_streams_in_pieces(client: anthropic.Anthropic) -> None:
    with client.messages.stream(
        model="tiny-counter", max_tokens=400, extra_body=COOL, messages=[{"role": "user", "content": "Count to 30."}]
    ) as stream:
        pieces = list(stream.text_stream)
    assert "".join(pieces) == ", ".join(map(str, range(1, 31)))
    assert len(pieces) > 1


@both
def test_a_stop_sequence_is_named(client: anthropic.Anthropic, mode: Mode) -> None:
    message = ask(client, mode, "Count to 10.", stop_sequences=["xyz", ", 7"])
    assert parts(message)[-1] == ("text", "1, 2, 3, 4, 5, 6")
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", ", 7")


@both
def test_max_tokens(client: anthropic.Anthropic, mode: Mode) -> None:
    message = ask(client, mode, "Count to 30.", max_tokens=40)
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 40
    assert parts(message)[-1][1].startswith("1, 2")


@both
def test_thinking_can_be_switched_off(client: anthropic.Anthropic, mode: Mode) -> None:
    message = ask(client, mode, "Count to 5.", thinking={"type": "disabled"})
    assert parts(message) == [("text", "1, 2, 3, 4, 5")]


@both
def test_a_tool_is_called_and_its_result_told(client: anthropic.Anthropic, mode: Mode) -> None:
    question: MessageParam = {"role": "user", "content": "What is the weather in Paris?"}
    message = ask(client, mode, [question], tools=[WEATHER])
    call = message.content[-1]
    assert call.type == "tool_use"
    assert (call.name, call.input, message.stop_reason) == ("get_weather", {"city": "Paris"}, "tool_use")
    result: MessageParam = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}],
    }
    answer: MessageParam = {"role": "assistant", "content": message.content}
    told = ask(client, mode, [question, answer, result], tools=[WEATHER])
    assert parts(told)[-1] == ("text", "The tool says: sunny")
    assert told.stop_reason == "end_turn"


@both
def test_two_turns(client: anthropic.Anthropic, mode: Mode) -> None:
    first = ask(client, mode, "Count to 3.")
    history: list[MessageParam] = [
        {"role": "user", "content": "Count to 3."},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": "Count from 7 to 9."},
    ]
    assert parts(ask(client, mode, history))[-1] == ("text", "7, 8, 9")


def test_a_client_that_leaves_stops_the_engine(client: anthropic.Anthropic, engine: Engine) -> None:
    limit = 7000
    messages: list[MessageParam] = [{"role": "user", "content": "Count to 99."}]
    with client.messages.stream(model="endless", max_tokens=limit, messages=messages) as stream:
        next(iter(stream))
        wait_until(engine.busy)
    wait_until(lambda: not engine.busy(), seconds=5)
    made = max(state["n_decoded"] for slot in engine.slots() for state in slot.get("next_token", []))
    assert made < limit


def test_the_engine_s_refusal_is_the_client_s(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(client, "whole", "word " * 20_000)
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["type"] == "invalid_request_error"


@both
@pytest.mark.parametrize("model", ["tiny-counter", "embedded"])
def test_a_prefill_is_continued_and_not_repeated(client: anthropic.Anthropic, mode: Mode, model: str) -> None:
    talk: list[MessageParam] = [
        {"role": "user", "content": "Count to 10."},
        {"role": "assistant", "content": "1, 2, 3,"},
    ]
    assert parts(ask(client, mode, talk, model=model)) == [("text", " 4, 5, 6, 7, 8, 9, 10")]


@both
def test_a_schema_beside_tools_leaves_the_model_its_tools(client: anthropic.Anthropic, mode: Mode) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    asked = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    message = ask(client, mode, "What is the weather in Paris?", tools=[WEATHER], extra_body=COOL | asked)
    assert ("tool_use", "get_weather") in parts(message)
