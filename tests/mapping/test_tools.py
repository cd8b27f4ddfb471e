"""Tools and the choice among them."""

from __future__ import annotations

from typing import Any

import pytest

from core.testing import UpstreamAnswer, UpstreamToolCall
from tests.mapping.wire import ASK, BACKENDS, HI, SENT_F, F, Wire, completion

G: dict[str, Any] = {**F, "name": "g"}
LONG = "mcp__" + "very_long_name_" * 6 + "x"
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}


def names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


@pytest.mark.parametrize("backend", BACKENDS)
def test_custom_tool(wire: Wire, backend: str) -> None:
    further = {
        "type": "custom",
        "cache_control": {"type": "ephemeral"},
        "eager_input_streaming": True,
        "allowed_callers": ["direct"],
        "input_examples": [{"x": 1}],
    }
    assert wire.sent(backend, tools=[F])["tools"] == [SENT_F]
    assert wire.sent(backend, tools=[{**F, **further}])["tools"] == [SENT_F]


def test_input_schema_goes_as_it_came(wire: Wire) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"b": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer", "exclusiveMinimum": 0}},
        "additionalProperties": False,
    }
    (tool,) = wire.sent(tools=[{"name": "f", "input_schema": schema}])["tools"]
    assert tool == {"type": "function", "function": {"name": "f", "parameters": schema}}
    assert list(tool["function"]["parameters"]) == list(schema)


def test_strict(wire: Wire) -> None:
    closed = {**F, "input_schema": {"type": "object", "properties": {}, "additionalProperties": False}}
    (tool,) = wire.sent(tools=[{**closed, "strict": True}])["tools"]
    assert tool["function"]["strict"] is True
    (tool,) = wire.sent(tools=[{**closed, "strict": False}])["tools"]
    assert "strict" not in tool["function"]
    assert wire.sent(tools=[{**F, "strict": True}])["tools"] == [SENT_F]


def test_no_tools(wire: Wire) -> None:
    body = wire.sent(tools=[], tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    assert not body.keys() & {"tools", "tool_choice", "parallel_tool_calls"}


def test_long_name(wire: Wire) -> None:
    tool = {**F, "name": LONG}
    body = wire.sent(tools=[tool], tool_choice={"type": "tool", "name": LONG})
    (short,) = names(body)
    assert 0 < len(short) <= 64
    assert body["tool_choice"]["function"]["name"] == short
    answer = UpstreamAnswer(text=None, tool_calls=(UpstreamToolCall(short),), finish_reason="tool_calls")
    (block,) = wire.answer(answer, tools=[tool])["content"]
    assert block["name"] == LONG
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"], "content": "r"}]}
    message = wire.messages(HI, {"role": "assistant", "content": [block]}, result, tools=[tool])[1]
    assert message["tool_calls"][0]["function"]["name"] == short


def test_faulty_tools(wire: Wire) -> None:
    assert wire.refused(tools=[F, F]) == "tools: Tool names must be unique."
    assert wire.refused(tools=[{"name": "f"}]) == "tools.0.custom.input_schema: Field required"


def test_deferred_tool(wire: Wire) -> None:
    late = {**G, "defer_loading": True}
    assert names(wire.sent(tools=[F, late])) == ["f"]
    assert "tools" not in wire.sent(tools=[late])
    found = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "tool_reference", "tool_name": "g"}]}
    talk = [
        HI,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [found]},
    ]
    assert names(wire.sent(tools=[late, F], messages=talk)) == ["f", "g"]
    references = {"type": "tool_search_tool_search_result", "tool_references": found["content"]}
    searched = [
        {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_bm25", "input": {"query": "g"}},
        {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": references},
    ]
    talk = [HI, {"role": "assistant", "content": searched}, {"role": "user", "content": "Go"}]
    assert names(wire.sent(tools=[late, F], messages=talk)) == ["f", "g"]


def test_deferred_tools_without_their_search(wire: Wire) -> None:
    drop = {"anthropic": {"drop_server_tools": True}}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    late = [{**tool, "defer_loading": True} for tool in (F, G)]
    assert names(wire.sent(tools=[search, *late], options=drop)) == ["f", "g"]
    assert "tools" not in wire.sent(tools=[SEARCH, *late], options=drop)


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("bash_20250124", "bash", {"command", "restart"}),
        ("text_editor_20250728", "str_replace_based_edit_tool", {"command", "path", "old_str", "insert_text"}),
        ("text_editor_20250124", "str_replace_editor", {"command", "path", "old_str", "insert_line"}),
        ("memory_20250818", "memory", {"command", "path", "old_path", "new_path"}),
    ],
)
def test_tools_that_the_client_runs(wire: Wire, kind: str, name: str, fields: set[str]) -> None:
    (tool,) = wire.sent(tools=[{"type": kind, "name": name}])["tools"]
    function = tool["function"]
    assert function["name"] == name
    assert function["description"]
    assert fields <= function["parameters"]["properties"].keys()


@pytest.mark.parametrize(
    "tool",
    [
        SEARCH,
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        {"type": "mcp_toolset", "mcp_server_name": "s"},
        {"type": "computer_toolset_20260801"},
        {"type": "browser_toolset_20260801"},
        {"type": "advisor_20260301", "name": "advisor"},
    ],
)
def test_tools_that_only_their_server_runs(wire: Wire, tool: dict[str, Any]) -> None:
    message = wire.refused(tools=[F, tool])
    assert message.startswith(f"tools.1: {tool['type']!r} ")
    drop = {"anthropic": {"drop_server_tools": True}}
    assert wire.sent(tools=[F, tool], options=drop)["tools"] == [SENT_F]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "g"}, {"type": "function", "function": {"name": "g"}}),
    ],
)
def test_tool_choice(wire: Wire, choice: dict[str, Any], sent: Any) -> None:
    body = wire.sent(tools=[F, G], tool_choice=choice)
    assert (body["tool_choice"], names(body)) == (sent, ["f", "g"])
    assert "tool_choice" not in wire.sent(tools=[F, G])


def test_a_choice_that_the_engine_does_not_obey(wire: Wire) -> None:
    one = {"type": "tool", "name": "g"}
    body = wire.sent("llama_cpp", tools=[F, G], tool_choice=one)
    assert (body["tool_choice"], names(body)) == ("required", ["g"])
    body = wire.sent("ollama", tools=[F, G], tool_choice=one)
    assert names(body) == ["g"]
    assert "tools" not in wire.sent("ollama", tools=[F, G], tool_choice={"type": "none"})


def test_unknown_tool_forced(wire: Wire) -> None:
    choice = {"type": "tool", "name": "h"}
    assert wire.refused(tools=[F], tool_choice=choice) == "tool_choice: Tool 'h' not found in provided tools"


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_call_at_a_time(wire: Wire, backend: str) -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    ignores = ("ollama", "lm_studio", "tgi", "transformers_serve", "deepseek", "gemini")
    body = wire.sent(backend, tools=[F, G], tool_choice=choice)
    assert body.get("parallel_tool_calls") is (None if backend in ignores else False)
    calls = tuple(UpstreamToolCall(name, id=f"c{name}") for name in ("f", "g"))
    answer = UpstreamAnswer(text="Look.", tool_calls=calls, finish_reason="tool_calls")
    for stream in (False, True):
        asked = {**ASK, "tools": [F, G], "tool_choice": choice, "stream": stream}
        got = wire.ask("/v1/messages", asked, completion(answer), backend=backend)
        assert [block.get("name") for block in got.message["content"]] == [None, "f"]
