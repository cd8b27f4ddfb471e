"""The rules of what one engine takes and wants, and others do not: told by its facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from core.testing.answers import UpstreamToolCall
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.bodies import FULL, TOOL
from core.testing.kit.engine import piece
from core.testing.kit.expect import brief, content_of, same
from core.testing.kit.facts import EngineFacts
from core.testing.kit.history import PIXEL
from core.testing.kit.rule import Rule, rule
from core.testing.kit.upstream import Upstream

EFFORT: Final[dict[str, Any]] = {"output_config": {"effort": "high"}}
THINKS: Final[dict[str, Any]] = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 9000}
ID: Final = "toolu_01AbC-dEf_9"


@rule()
def a_stream_is_asked_for_like_a_whole_answer(bench: Bench) -> None:
    """The body of a client that streams has all that the body of one that does not has, and the same."""
    asked = {**FULL, **EFFORT}
    bodies = [upstream.asked[0].body for upstream in (_asked(bench, asked, stream) for stream in (True, False))]
    plain = [{name: value for name, value in body.items() if not name.startswith("stream")} for body in bodies]
    differ = sorted(name for name in plain[0] | plain[1] if plain[0].get(name) != plain[1].get(name))
    need(not differ, f"{', '.join(differ)} differ in the bodies of a client that streams and of one that does not")


def _asked(bench: Bench, request: Mapping[str, Any], stream: bool) -> Upstream:
    upstream = bench.upstream(lambda body: [bench.wire(stream=bool(body.get("stream")))])
    client = bench.ask(upstream, **{**request, "stream": stream})
    need(bool(upstream.asked), f"the request never reached the upstream: {client.body[:160]!r}")
    return upstream


@rule(lambda facts: bool(facts.allowed_fields), needs="those with `allowed_fields`")
def only_fields_that_are_taken_are_sent(bench: Bench) -> None:
    """No field is at the top of a body that the engine refuses."""
    for request in (FULL, {**FULL, **EFFORT, "top_k": 7}, THINKS, {**FULL, "tool_choice": {"type": "any"}}):
        for stream in (True, False):
            extra = _asked(bench, request, stream).asked[0].body.keys() - {*bench.facts.allowed_fields}
            need(not extra, f"the body has {', '.join(sorted(extra))}, which the engine refuses")


def _lacks(facts: EngineFacts) -> bool:
    return not (facts.images and facts.schema and facts.tool_choice)


@rule(_lacks, needs="those without `images`, `schema` or `tool_choice`")
def what_it_cannot_do_is_not_asked_for(bench: Bench) -> None:
    """An image, a schema or a forced tool that the engine does not take is not in the body; a refusal is right, too."""
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    turn = {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    asked: list[dict[str, Any]] = [] if bench.facts.images else [{"messages": [turn]}]
    asked += [] if bench.facts.schema else [{"output_config": {"format": {"type": "json_schema", "schema": schema}}}]
    asked += [] if bench.facts.tool_choice else [{"tools": [TOOL], "tool_choice": {"type": "any"}}]
    for request in asked:
        upstream = bench.upstream(lambda body: [bench.wire(stream=bool(body.get("stream")))])
        client = bench.ask(upstream, **request)
        need(bool(upstream.asked) or 400 <= client.status < 500, f"{brief(request)} is answered by {client.status}")
        for sent in upstream.asked:
            need(PIXEL not in str(sent.body), "the body has an image, which the engine does not take")
            kind = (sent.body.get("response_format") or {}).get("type")
            need(kind != "json_schema" or bench.facts.schema, "the body has a schema, which the engine does not take")
            forced = sent.body.get("tool_choice") not in (None, "auto", "none")
            need(not forced or bench.facts.tool_choice, "the body forces a tool, which the engine does not take")


@rule(lambda facts: bool(facts.with_tools), needs="those with `with_tools`")
def tools_come_with_what_they_need(bench: Bench) -> None:
    """Where the client leaves the choice of tools open, the body says what the engine wants said with tools."""
    body = bench.sent({"tools": [TOOL]})
    for name, value in bench.facts.with_tools.items():
        same("body with tools", f"field {name!r}", body.get(name), value)
        need(name not in bench.sent(), f"the body has {name!r} though there are no tools")


@rule(lambda facts: bool(facts.tool_id_pattern), needs="those with `tool_id_pattern`")
def ids_of_calls_are_such_as_are_taken(bench: Bench) -> None:
    """The ids of earlier calls and of their results are such as the engine takes, each pair the same."""
    messages = bench.sent(_history(ID))["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    same("body", "ids of results", results, calls)
    for identity in calls:
        fits = re.fullmatch(bench.facts.tool_id_pattern, identity)
        need(fits is not None, f"the engine refuses the id {identity!r} of an earlier call")


def _history(identity: str) -> dict[str, Any]:
    use = {"type": "tool_use", "id": identity, "name": "get_weather", "input": {"city": "Oslo"}}
    return _turns([use], identity)


def _turns(answer: Any, identity: str) -> dict[str, Any]:
    """A request that goes on behind an answer with a call."""
    result = {"type": "tool_result", "tool_use_id": identity, "content": "Cold."}
    turns = [("user", "Hi"), ("assistant", answer), ("user", [result])]
    return {"tools": [TOOL], "messages": [{"role": role, "content": content} for role, content in turns]}


@rule(lambda facts: bool(facts.foreign_call), needs="those with `foreign_call`")
def calls_of_other_models_are_marked(bench: Bench) -> None:
    """An earlier call that the engine did not make goes back with what the engine wants of such."""
    (call,) = _calls(bench, _history(ID))
    for name, value in bench.facts.foreign_call.items():
        same("earlier call of another model", f"field {name!r}", call.get(name), value)


def _calls(bench: Bench, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = bench.sent(request)["messages"]
    return [call for message in messages for call in message.get("tool_calls") or ()]


@rule(lambda facts: bool(facts.keep or facts.keep_in_calls), needs="those with `keep` or `keep_in_calls`")
def what_is_wanted_back_goes_back(bench: Bench) -> None:
    """Fields of the answer and of its calls that the engine wants back go back with the next request, unchanged."""
    facts, kept = bench.facts, {"google": {"thought_signature": "c2ln/+=="}}
    beside = {name: [{"type": "reasoning.encrypted", "data": "ZW5j/+==", "index": 0}] for name in facts.keep}
    call = UpstreamToolCall("get_weather", '{"city": "Oslo"}', "call_k")
    function = {"name": call.name, "arguments": call.arguments}
    calls: list[dict[str, Any]] = [{"index": 0, "id": call.id, "type": "function", "function": function}]
    calls[0] |= dict.fromkeys(facts.keep_in_calls, kept)
    chunks = [piece(beside), piece({"tool_calls": calls}), piece({}, "tool_calls")]
    for place, reply in bench.serve(bench.engine.stream(chunks), request={"tools": [TOOL]}):
        content = content_of(place, reply)
        (identity,) = [block["id"] for block in content if block["type"] == "tool_use"]
        messages = bench.sent(_turns(content, identity))["messages"]
        (turn,) = [message for message in messages if message.get("tool_calls")]
        for name, value in beside.items():
            need(turn.get(name) == value, f"{place}: {name!r} goes back as {brief(turn.get(name))}")
        for name in facts.keep_in_calls:
            got = turn["tool_calls"][0].get(name)
            need(got == kept, f"{place}: {name!r} of a call goes back as {brief(got)}")


@rule(lambda facts: bool(facts.no_thinking), needs="those with `no_thinking`")
def a_model_that_cannot_think_is_asked_without(bench: Bench) -> None:
    """A refusal that only says that the model cannot think is answered by the same request without its switches."""
    body = bench.engine.wire(bench.engine.answer(text="One."), stream=False)
    refusal, _ = bench.engine.failed({"message": bench.facts.no_thinking}, 400)

    plain = bench.sent({"max_tokens": THINKS["max_tokens"]})

    def reply(sent: Any) -> list[bytes]:
        upstream.status = 400 if sent.keys() - plain.keys() else 200
        return [refusal if upstream.status == 400 else body]

    upstream = bench.upstream(reply)
    client = bench.ask(upstream, **THINKS)
    need(client.status == 200, f"a model that cannot think is told as {client.status}: {client.body[:160]!r}")


RULES: Final[tuple[Rule, ...]] = (
    a_stream_is_asked_for_like_a_whole_answer,
    only_fields_that_are_taken_are_sent,
    what_it_cannot_do_is_not_asked_for,
    tools_come_with_what_they_need,
    ids_of_calls_are_such_as_are_taken,
    calls_of_other_models_are_marked,
    what_is_wanted_back_goes_back,
    a_model_that_cannot_think_is_asked_without,
)
