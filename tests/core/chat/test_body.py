from __future__ import annotations

from types import MappingProxyType
from typing import Any

import attrs
import orjson
import pytest

from core.chat.body import EFFORTS, chat_body, merge, nearest
from core.chat.dialect import Dialect
from core.errors import RequestError
from core.request import (
    Message,
    OtherTool,
    Request,
    TextBlock,
    ThinkingConfig,
    Tool,
    ToolChoice,
    ToolReferenceBlock,
    ToolResultBlock,
)

HI = Request("message", messages=(Message("user", (TextBlock("hi"),)),))
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"b": {}, "a": {}}}
F = Tool("f", SCHEMA)
SENT_F = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


def body(dialect: Dialect | None = None, *, stream: bool = False, extra: Any = None, **fields: Any) -> dict[str, Any]:
    request = attrs.evolve(HI, **fields)
    return chat_body(request, model="m", dialect=dialect or Dialect(), stream=stream, extra=extra)


def test_the_least() -> None:
    assert body() == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False}


def test_everything_in_its_order() -> None:
    dialect = Dialect(
        top_k=True, efforts=("low", "high"), thinking_budget_field="budget", thinking_on={"think": True}, extra={"x": 1}
    )
    found = body(
        dialect,
        stream=True,
        extra={"y": 2},
        max_tokens=9,
        temperature=0.0,
        top_p=0.5,
        top_k=3,
        stop_sequences=("5",),
        tools=(F,),
        tool_choice=ToolChoice("any", parallel=False),
        thinking=ThinkingConfig("enabled", 1024),
        effort="medium",
        output_schema=SCHEMA,
        user_id="u",
    )
    assert list(found.items()) == [
        ("model", "m"),
        ("messages", [{"role": "user", "content": "hi"}]),
        ("max_tokens", 9),
        ("temperature", 0.0),
        ("top_p", 0.5),
        ("top_k", 3),
        ("stop", ["5"]),
        ("stream", True),
        ("stream_options", {"include_usage": True}),
        ("tools", [SENT_F]),
        ("tool_choice", "required"),
        ("parallel_tool_calls", False),
        ("reasoning_effort", "low"),
        ("budget", 1024),
        ("think", True),
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "response", "schema": SCHEMA, "strict": True}},
        ),
        ("x", 1),
        ("y", 2),
    ]


def test_the_same_request_gives_the_same_bytes_and_a_longer_one_the_same_beginning() -> None:
    first = orjson.dumps(body(tools=(F,), system=(TextBlock("s"),))["messages"])
    again = orjson.dumps(body(tools=(F,), system=(TextBlock("s"),))["messages"])
    longer = (*HI.messages, Message("assistant", (TextBlock("a"),)), Message("user", (TextBlock("b"),)))
    assert first == again
    assert orjson.dumps(body(system=(TextBlock("s"),), messages=longer)["messages"]).startswith(first.rstrip(b"]"))


@pytest.mark.parametrize(("asked", "sent"), [(None, None), (0, 1), (1, 1), (128_000, 128_000)])
@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_just_one_token_limit(field: Any, asked: int | None, sent: int | None) -> None:
    found = body(Dialect(max_tokens_field=field), max_tokens=asked)
    limits = {key: found[key] for key in ("max_tokens", "max_completion_tokens") if key in found}
    assert limits == ({} if sent is None else {field: sent})


def test_top_k_goes_only_where_it_is_known() -> None:
    assert "top_k" not in body(top_k=5)
    assert body(Dialect(top_k=True), top_k=0)["top_k"] == 0


# --- stops ---


@pytest.mark.parametrize(
    ("dialect", "stops", "sent"),
    [
        (Dialect(), (), None),
        (Dialect(), ("5",), ["5"]),
        (Dialect(), ("1", "2", "3", "4"), ["1", "2", "3", "4"]),
        (Dialect(max_stops=None), tuple("123456"), list("123456")),
        (Dialect(stop=False, max_stops=0), ("5",), None),
    ],
)
def test_stops(dialect: Dialect, stops: tuple[str, ...], sent: list[str] | None) -> None:
    assert body(dialect, stop_sequences=stops).get("stop") == sent


def test_more_stops_than_the_server_takes_are_refused() -> None:
    with pytest.raises(RequestError) as caught:
        body(stop_sequences=tuple("12345"))
    assert caught.value.message == "stop_sequences: this model's server takes at most 4, the request has 5"


# --- streaming ---


def test_a_stream_asks_for_its_usage_where_that_is_known() -> None:
    assert body(stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(Dialect(stream_usage=False), stream=True)
    assert "stream_options" not in body(stream=False)


# --- thinking ---

THINKER = Dialect(
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    thinking_budget_field="budget",
)
ON, OFF = {"enable_thinking": True}, {"enable_thinking": False}


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (None, {}),
        (ThinkingConfig("disabled"), {"chat_template_kwargs": OFF}),
        (ThinkingConfig("between_tools"), {"chat_template_kwargs": OFF}),
        (ThinkingConfig("adaptive"), {"chat_template_kwargs": ON}),
        (ThinkingConfig("enabled", 2048), {"chat_template_kwargs": ON, "budget": 2048}),
    ],
)
def test_thinking(thinking: ThinkingConfig | None, sent: dict[str, Any]) -> None:
    found = body(THINKER, thinking=thinking)
    assert {key: found[key] for key in ("chat_template_kwargs", "budget") if key in found} == sent
    assert list(body(thinking=thinking)) == ["model", "messages", "stream"]


def test_thinking_switched_off_wins_over_effort() -> None:
    dialect = Dialect(thinking_off={"reasoning_effort": "none"}, efforts=EFFORTS)
    assert body(dialect, effort="high", thinking=ThinkingConfig("disabled"))["reasoning_effort"] == "none"
    assert body(dialect, effort="high")["reasoning_effort"] == "high"
    assert "reasoning_effort" not in body(effort="high")


@pytest.mark.parametrize(
    ("effort", "known", "expected"),
    [
        ("low", EFFORTS, "low"),
        ("max", EFFORTS, "max"),
        ("max", ("low", "medium", "high"), "high"),
        ("xhigh", ("low", "high", "max"), "high"),
        ("low", ("medium", "high"), "medium"),
        ("medium", ("none", "high"), "high"),
        ("low", ("none", "minimal", "high"), "minimal"),
        ("high", ("none",), "none"),
        ("max", ("high", "ultra"), "high"),
        ("low", ("ultra",), "ultra"),
        ("medium", ("high", "low"), "low"),
    ],
)
def test_the_nearest_effort(effort: str, known: tuple[str, ...], expected: str) -> None:
    assert nearest(effort, known) == expected


# --- tools ---


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        (F, {"name": "f", "parameters": SCHEMA}),
        (Tool("f", SCHEMA, "does"), {"name": "f", "description": "does", "parameters": SCHEMA}),
        (Tool("f", {}, strict=False), {"name": "f", "parameters": {}, "strict": False}),
    ],
)
def test_a_tool(tool: Tool, sent: dict[str, Any]) -> None:
    assert body(tools=(tool,))["tools"] == [{"type": "function", "function": sent}]
    assert list(body(tools=(tool,))["tools"][0]["function"]) == list(sent)


def test_no_tools_no_choice() -> None:
    for tools in ((), (Tool("f", SCHEMA, defer_loading=True),)):
        assert list(body(tools=tools, tool_choice=ToolChoice("any", parallel=False))) == ["model", "messages", "stream"]


def test_a_deferred_tool_is_sent_once_the_history_names_it() -> None:
    result = ToolResultBlock("c0", (ToolReferenceBlock("g"),))
    tools = (F, Tool("g", {}, defer_loading=True), Tool("h", {}, defer_loading=True))
    found = body(tools=tools, messages=(Message("user", (result,)),))
    assert [tool["function"]["name"] for tool in found["tools"]] == ["f", "g"]


def test_a_provider_s_tool_is_refused_by_name() -> None:
    tool = OtherTool("web_search_20250305", "web_search", {})
    with pytest.raises(RequestError, match=r"^tools\.1: 'web_search_20250305' ") as caught:
        body(tools=(F, tool))
    assert caught.value.status == 400


ALL, NO_NAME, AUTO = ("auto", "any", "tool", "none"), ("auto", "any", "none"), ("auto",)
NAMED = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("choice", "known", "sent"),
    [
        (None, ALL, None),
        (ToolChoice(), ALL, "auto"),
        (ToolChoice("any"), ALL, "required"),
        (ToolChoice("none"), ALL, "none"),
        (ToolChoice("tool", "f"), ALL, NAMED),
        (ToolChoice("tool", "f"), NO_NAME, "required"),
        (ToolChoice("tool", "f"), AUTO, "auto"),
        (ToolChoice("any"), AUTO, "auto"),
        (ToolChoice("none"), AUTO, "auto"),
    ],
)
def test_the_choice_is_sent_as_the_nearest_that_is_known(
    choice: ToolChoice | None, known: tuple[str, ...], sent: Any
) -> None:
    assert body(Dialect(tool_choice=known), tools=(F,), tool_choice=choice).get("tool_choice") == sent


@pytest.mark.parametrize(
    ("field", "parallel", "sent"), [(True, False, False), (True, True, None), (False, False, None)]
)
def test_parallel_calls(field: bool, parallel: bool, sent: bool | None) -> None:
    found = body(Dialect(parallel_tool_calls=field), tools=(F,), tool_choice=ToolChoice(parallel=parallel))
    assert found.get("parallel_tool_calls") is sent


# --- extras ---


def test_extras_go_deep_and_the_operator_s_come_last() -> None:
    dialect = attrs.evolve(THINKER, extra={"chat_template_kwargs": {"a": 1}, "seed": 1, "stop": ["x"]})
    extra = {"chat_template_kwargs": {"enable_thinking": True, "b": {"c": 2}}, "seed": 2, "temperature": 0.1, "n": None}
    found = body(dialect, thinking=ThinkingConfig("disabled"), extra=extra, temperature=0.9, stop_sequences=("5",))
    assert found["chat_template_kwargs"] == {"enable_thinking": True, "a": 1, "b": {"c": 2}}
    assert (found["seed"], found["temperature"], found["stop"], found["n"]) == (2, 0.1, ["x"], None)
    assert THINKER.thinking_off == {"chat_template_kwargs": OFF}


def test_merge_changes_neither_and_gives_plain_dicts() -> None:
    base, more = (
        {"a": {"b": 1}, "c": 1},
        {"a": {"d": 2}, "c": {"e": 3}, "f": MappingProxyType({"g": MappingProxyType({})})},
    )
    found = merge(base, more)
    assert found == {"a": {"b": 1, "d": 2}, "c": {"e": 3}, "f": {"g": {}}}
    assert orjson.loads(orjson.dumps(found)) == found
    assert base == {"a": {"b": 1}, "c": 1}
    found["a"]["x"] = found["c"]["x"] = 1
    assert "x" not in base["a"]  # type: ignore[operator]
    assert "x" not in more["c"]
    assert merge({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
