from __future__ import annotations

from typing import Any

import pytest
from cattrs.errors import BaseValidationError

from core import Message, Request, TextBlock, ThinkingConfig, Tool, ToolChoice
from plugins.anthropic.body import Body, body_hook
from plugins.anthropic.faults import FaultError, explain
from plugins.anthropic.structure import new_converter

MESSAGES = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object"}


def body(**fields: Any) -> Body:
    value = {"model": "m", "max_tokens": 5, "messages": MESSAGES, **fields}
    return body_hook(new_converter())(value, None)  # type: ignore[no-any-return]


def fault(**fields: Any) -> str:
    with pytest.raises((FaultError, BaseValidationError)) as caught:
        body(**fields)
    return explain(caught.value)


def test_every_field_finds_its_place() -> None:
    request = body(
        stream=True,
        system="s",
        temperature=1,
        top_p=0.5,
        top_k=0,
        stop_sequences=["END", "END"],
        tools=[{"name": "f", "input_schema": SCHEMA}],
        tool_choice={"type": "any"},
        thinking={"type": "enabled", "budget_tokens": 1024, "display": "omitted"},
        output_config={"effort": "xhigh", "format": {"type": "json_schema", "schema": SCHEMA}},
        metadata={"user_id": "u"},
    ).request("message")
    assert request == Request(
        task="message",
        model="m",
        messages=(Message("user", (TextBlock("hi"),)),),
        system=(TextBlock("s"),),
        max_tokens=5,
        stream=True,
        temperature=1,
        top_p=0.5,
        top_k=0,
        stop_sequences=("END",),
        tools=(Tool("f", SCHEMA),),
        tool_choice=ToolChoice("any"),
        thinking=ThinkingConfig("enabled", 1024, "omitted"),
        effort="xhigh",
        output_schema=SCHEMA,
        user_id="u",
    )


def test_nulls_are_absent() -> None:
    optional = ["stream", "system", "temperature", "top_p", "top_k", "stop_sequences", "tools", "tool_choice"]
    optional += ["thinking", "output_config", "output_format", "metadata"]
    assert body(**dict.fromkeys(optional)) == body()
    inner = {"metadata": {"user_id": None}, "output_config": {"effort": None, "format": None}}
    assert body(**inner) == body()


def test_what_nobody_knows_is_passed_over() -> None:
    extra: dict[str, Any] = {
        "container": None,
        "context_management": {"edits": []},
        "service_tier": "auto",
        "future": [1],
    }
    assert body(**extra) == body()


def test_the_old_place_of_the_format() -> None:
    assert body(output_format={"type": "json_schema", "schema": SCHEMA}).request("message").output_schema == SCHEMA


def test_a_count_never_streams() -> None:
    assert body(stream=True).request("count_tokens").stream is False


@pytest.mark.parametrize(
    ("thinking", "config"),
    [
        ({"type": "adaptive", "display": None}, ThinkingConfig("adaptive")),
        ({"type": "disabled"}, ThinkingConfig("disabled")),
        ({"type": "between_tools"}, ThinkingConfig("between_tools")),
        ({"type": "enabled", "budget_tokens": 99999}, ThinkingConfig("enabled", 99999)),
        ({"type": "adaptive", "display": "updates"}, ThinkingConfig("adaptive", display="updates")),
    ],
)
def test_thinking(thinking: Any, config: ThinkingConfig) -> None:
    assert body(thinking=thinking).thinking == config


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"model": 1}, "model: Input should be a valid string"),
        ({"messages": "hi"}, "messages: Input should be a valid list"),
        ({"messages": ["hi"]}, "messages.0: Input should be an object"),
        ({"messages": [{"content": "x"}]}, "messages.0.role: Field required"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        (
            {"messages": [*MESSAGES, {"role": "user", "content": 3}]},
            "messages.1.content: Input should be a valid string",
        ),
        (
            {"messages": [{"role": "tool", "content": "x"}]},
            "messages.0.role: Input should be 'user', 'assistant' or 'system'",
        ),
        ({"max_tokens": "5"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"temperature": 1.1}, "temperature: Input should be less than or equal to 1"),
        ({"temperature": "hot"}, "temperature: Input should be a valid number"),
        ({"top_p": -0.1}, "top_p: Input should be greater than or equal to 0"),
        ({"top_k": -1}, "top_k: Input should be greater than or equal to 0"),
        ({"stop_sequences": "END"}, "stop_sequences: Input should be a valid list"),
        ({"stop_sequences": ["END", 1]}, "stop_sequences.1: Input should be a valid string"),
        ({"system": 1}, "system: Input should be a valid string or list"),
        ({"tools": [{"name": "f"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.tool.name: Field required"),
        ({"tool_choice": {"type": "x"}}, "tool_choice: Input tag 'x' found using 'type' does not match any of"),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1023}},
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
        ({"thinking": {"type": "x"}}, "thinking: Input tag 'x' found using 'type'"),
        ({"thinking": {}}, "thinking.type: Field required"),
        (
            {"output_config": {"effort": "x"}},
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or",
        ),
        (
            {"output_config": {"format": {"type": "json_schema"}}},
            "output_config.format.json_schema.schema: Field required",
        ),
        ({"metadata": {"user_id": 1}}, "metadata.user_id: Input should be a valid string"),
    ],
)
def test_faults_are_told_with_their_path(fields: dict[str, Any], sentence: str) -> None:
    assert fault(**fields).startswith(sentence)
