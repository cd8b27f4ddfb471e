"""The rules of the request's body: all that the client asked for is there, and nothing of its protocol."""

from __future__ import annotations

import json
from typing import Any, Final

from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.expect import brief, same
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule, rule, unless

LEAKS: Final = frozenset(
    {"stop_sequences", "system", "input_schema", "cache_control", "metadata", "tool_use_id", "is_error", "signature"}
)
TYPES: Final = frozenset({"tool_use", "tool_result", "image", "redacted_thinking"})
LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens")
TOOL: Final = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
FULL: Final[dict[str, Any]] = {
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Weather?", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_abc123", "name": "get_weather", "input": {"city": "Paris"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_abc123", "content": "Sunny."}]},
        {"role": "assistant", "content": "It is sunny."},
        {"role": "user", "content": "And tomorrow?"},
    ],
    "tools": [TOOL],
    "metadata": {"user_id": "user-1"},
    "temperature": 0.25,
    "max_tokens": 321,
}
OURS: Final = frozenset({"thinking", "output_config", "service_tier", "container", "mcp_servers", "context_management"})
"""Fields at the top of the client's request, which an engine may have, but not with the client's values."""


@rule(hint=unless(system_role=..., usual_body=...))
def the_conversation_is_sent(bench: Bench) -> None:
    """The model's name, the system prompt and every turn reach the engine, in order and in its words."""
    body = bench.sent({"system": "Be brief.", "messages": FULL["messages"][:1] + FULL["messages"][3:]})
    same("body", "model", body["model"] if body["model"] != "tgi" else "upstream-model", "upstream-model")
    turns = [(message["role"], _text(message["content"])) for message in body["messages"]]
    wanted = [(bench.facts.system_role, "Be brief."), ("user", "Weather?")]
    wanted += [("assistant", "It is sunny."), ("user", "And tomorrow?")]
    same("body", "conversation", turns, wanted)


@rule(hint=unless(max_tokens_field=...))
def the_token_limit_is_sent(bench: Bench) -> None:
    """The token limit goes under the one field that the engine reads."""
    body = bench.sent({"max_tokens": 321})
    field, most = bench.facts.max_tokens_field, bench.facts.max_tokens_limit
    names = (*(name for name in LIMITS if name != field), field)
    same("body", "token limit", {name: body[name] for name in names if name in body}, {field: min(321, most or 321)})
    if most is not None:
        same("body", f"token limit of {most + 1}", bench.sent({"max_tokens": most + 1}).get(field), most)


def _sampling(facts: EngineFacts) -> str:
    left = [name for name, value in (("sampling=False", facts.sampling), ("top_k=True", not facts.top_k)) if value]
    return f"or, where the engine is not so, say EngineFacts({') or EngineFacts('.join(left)})" if left else ""


@rule(hint=_sampling)
def sampling_is_sent(bench: Bench) -> None:
    """`temperature`, `top_p` and `top_k` are sent where the engine takes them, and never made up."""
    facts = bench.facts
    wanted: dict[str, Any] = {"temperature": 0.25, "top_p": 0.5} if facts.sampling else {}
    wanted |= {"top_k": 7} if facts.top_k else {}
    body = bench.sent({"temperature": 0.25, "top_p": 0.5, "top_k": 7})
    names = ("temperature", "top_p", "top_k")
    same("body", "sampling", {name: body[name] for name in names if name in body}, wanted)
    zero = bench.sent({"temperature": 0.0})
    same("body", "temperature of 0", zero.get("temperature"), 0.0 if facts.sampling else None)
    made_up = [name for name in names if name in bench.sent()]
    need(not made_up, f"the body has {', '.join(made_up)}, which the client did not give")


@rule(lambda facts: facts.reports_match, needs="those with a `stop_field` or `stop_top`")
def stop_sequences_are_sent(bench: Bench) -> None:
    """The client's stop sequences go to an engine that names the match, all of them; without any, none goes."""
    stops, field = ["END", "\n\n#"][: bench.facts.max_stops], bench.facts.stops_field
    request = {"stop_sequences": stops}
    for more in ({}, {"thinking": {"type": "disabled"}}):
        body = bench.sent({**request, **more})
        need(field == "stop" or "stop" not in body, f"the stop sequences are in `stop`, and the engine reads `{field}`")
        stop = body.get(field)
        if stop is not None:
            same("body", f"field `{field}`", stop, stops)
    need(not bench.sent().get(field), "the body has stop sequences that the client did not give")


@rule(hint=unless(usual_body=...))
def tools_are_sent(bench: Bench) -> None:
    """Tools go to the engine as functions: name, description, schema."""
    body = bench.sent({"tools": [TOOL]})
    function = body["tools"][0]["function"]
    same("body", "type of a tool", body["tools"][0]["type"], "function")
    got = (function["name"], function.get("description"), function["parameters"])
    same("body", "tool", got, (TOOL["name"], TOOL["description"], TOOL["input_schema"]))
    need("tools" not in bench.sent(), "the body has tools that the client did not give")


@rule(lambda facts: facts.tool_choice, needs="those with `tool_choice`", hint=unless(tool_choice=False))
def a_forced_tool_is_asked_for(bench: Bench) -> None:
    """The choice of `any` tool, of one tool and of none reach the engine."""
    other = {"name": "get_time", "input_schema": {"type": "object"}}
    tools = {"tools": [TOOL, other]}
    same(
        "body",
        "choice of any tool",
        bench.sent({**tools, "tool_choice": {"type": "any"}}).get("tool_choice"),
        "required",
    )
    body = bench.sent({**tools, "tool_choice": {"type": "tool", "name": "get_weather"}})
    named = (body.get("tool_choice"), [tool["function"]["name"] for tool in body["tools"]])
    one = {"type": "function", "function": {"name": "get_weather"}}
    need(named[0] == one or named == ("required", ["get_weather"]), f"a named tool is asked for by {brief(named)}")
    none = bench.sent({**tools, "tool_choice": {"type": "none"}})
    need(none.get("tool_choice") == "none" or "tools" not in none, "a choice of no tool does not reach the engine")


@rule()
def nothing_of_the_clients_protocol_leaks(bench: Bench) -> None:
    """No field and no block of the client's protocol is in the body."""
    facts = bench.facts
    asked = {**FULL, "stop_sequences": ["END"], "output_config": {"effort": "high"}, "service_tier": "auto"}
    budget = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 9000}
    for request in (FULL, asked, {**asked, "thinking": {"type": "adaptive"}}, {**FULL, **budget}):
        body = bench.sent(request)
        _check_leaks(body, "body")
        theirs = OURS & body.keys() - facts.thinking_on.keys() - facts.thinking_off.keys()
        need(not theirs, f"the body has {', '.join(sorted(theirs))}, which is of the client's protocol")


def _check_leaks(value: Any, place: str) -> None:
    if isinstance(value, list):
        for number, inner in enumerate(value):
            _check_leaks(inner, f"{place}[{number}]")
    if not isinstance(value, dict):
        return
    found = LEAKS & value.keys()
    need(not found, f"{place} has {', '.join(sorted(found))}, which is of the client's protocol")
    need(value.get("type") not in TYPES, f"{place} is a block of the client's protocol: {value.get('type')}")
    for name, inner in value.items():
        if name not in ("parameters", "schema"):
            _check_leaks(inner, f"{place}.{name}")


@rule()
def the_same_request_is_the_same_body(bench: Bench) -> None:
    """The same request becomes the same bytes each time, and a longer conversation begins with the same messages."""
    first, second = (json.dumps(bench.sent(FULL)) for _ in range(2))
    need(first == second, "the same request became two different bodies: no prefix cache can live on that")
    shorter = bench.sent({**FULL, "messages": FULL["messages"][:3]})["messages"]
    longer = bench.sent(FULL)["messages"]
    need(longer[: len(shorter)] == shorter, "a longer conversation does not begin with the messages of the shorter one")


@rule(hint=unless(stream_usage=False))
def the_stream_is_asked_for(bench: Bench) -> None:
    """`stream` is what the mode wants, and a stream is asked for its counts where the engine must be asked."""
    for place, reply in bench.serve(bench.engine.answer()):
        stream = "upstream stream" in place
        same(place, "field `stream`", bool(reply.sent.get("stream")), stream)
        wanted = {"include_usage": True} if stream and bench.facts.stream_usage else None
        same(place, "field `stream_options`", reply.sent.get("stream_options"), wanted)


def _thinks(facts: EngineFacts) -> bool:
    return bool(facts.thinking_on or facts.thinking_off)


@rule(_thinks, needs="those with `thinking_on` or `thinking_off`")
def thinking_is_switched(bench: Bench) -> None:
    """Thinking that the client switches on or off is switched in the body; where it says nothing, nothing is."""
    facts = bench.facts
    on, off = facts.thinking_on, facts.thinking_off
    for thinking in ({"type": "enabled", "budget_tokens": 2048}, {"type": "adaptive"}):
        _check_holds(bench.sent({"thinking": thinking, "max_tokens": 9000}), dict(on), f"thinking {thinking['type']}")
    _check_holds(bench.sent({"thinking": {"type": "disabled"}}), dict(off), "thinking disabled")
    body = bench.sent()
    for name in {*on, *off}:
        need(name not in body, f"the body has {name!r}, though the client did not speak of thinking")


def _check_holds(body: Any, wanted: dict[str, Any], place: str) -> None:
    for name, value in wanted.items():
        if isinstance(value, dict) and isinstance(body.get(name), dict):
            _check_holds(body[name], value, f"{place}: {name}")
        else:
            same(place, f"field {name!r}", body.get(name), value)


@rule(lambda facts: facts.schema, needs="those with `schema`", hint=unless(schema=False))
def a_schema_is_sent(bench: Bench) -> None:
    """A schema for the answer is sent as `response_format`."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    body = bench.sent({"output_config": {"format": {"type": "json_schema", "schema": schema}}})
    got = body.get("response_format") or {}
    same("body", "schema", (got.get("type"), (got.get("json_schema") or {}).get("schema")), ("json_schema", schema))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content)


RULES: Final[tuple[Rule, ...]] = (
    the_conversation_is_sent,
    the_token_limit_is_sent,
    sampling_is_sent,
    stop_sequences_are_sent,
    tools_are_sent,
    a_forced_tool_is_asked_for,
    nothing_of_the_clients_protocol_leaks,
    the_same_request_is_the_same_body,
    the_stream_is_asked_for,
    thinking_is_switched,
    a_schema_is_sent,
)
