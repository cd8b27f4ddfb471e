"""The rules of earlier turns: calls, their results, reasoning and images go back to the engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.bodies import FULL, TOOL
from core.testing.kit.expect import same
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule, rule, unless

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@rule()
def calls_and_results_go_back(bench: Bench) -> None:
    """An earlier call goes back with name and arguments, and its result, or its failure, under the same id."""
    messages = bench.sent(FULL)["messages"]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    results = [message for message in messages if message["role"] == "tool"]
    same("body", "numbers of calls and of results", (len(calls), len(results)), (1, 1))
    got = (calls[0]["function"]["name"], json.loads(calls[0]["function"]["arguments"]))
    same("body", "earlier call", got, ("get_weather", {"city": "Paris"}))
    need(isinstance(calls[0]["function"]["arguments"], str), "the arguments of an earlier call are not JSON text")
    same("body", "id of a result", results[0]["tool_call_id"], calls[0]["id"])
    need("Sunny." in str(results[0]["content"]), "what the tool answered does not reach the engine")
    roles = [message["role"] for message in messages if message["role"] in ("user", "tool")]
    same("body", "order of turns", roles, ["user", "tool", "user"])


@rule()
def several_results_keep_their_calls(bench: Bench) -> None:
    """Two calls of one turn and their results go back in order, each result under its call's id."""
    uses = [
        {"type": "tool_use", "id": f"toolu_{city}0001", "name": "get_weather", "input": {"city": city}}
        for city in ("Oslo", "Rome")
    ]
    results = [
        {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": f"{use['id']} is cold"}]}
        for use in uses
    ]
    turns: list[tuple[str, Any]] = [("user", "Hi"), ("assistant", uses), ("user", results)]
    request = {"tools": [TOOL], "messages": [{"role": role, "content": content} for role, content in turns]}
    messages = bench.sent(request)["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    told = [(message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"]
    same("body", "ids of results", [identity for identity, _ in told], calls)
    for use, (_, content) in zip(uses, told, strict=True):
        need(f"{use['id']} is cold" in str(content), "the results of two calls are mixed up")


def _remembers(facts: EngineFacts) -> bool:
    return bool(facts.reasoning_history and facts.reasoning_field)


@rule(_remembers, needs="those with `reasoning_history` and a `reasoning_field`")
def reasoning_goes_back(bench: Bench) -> None:
    """The reasoning of an earlier turn goes back in the field that the engine reads."""
    from_engine = bench.serve(bench.engine.answer(text="I look.", reasoning="Hm, Paris."))
    answer = from_engine[0][1].message["content"]
    turns: list[tuple[str, Any]] = [("user", "Hi"), ("assistant", answer), ("user", "Go on.")]
    request = {"messages": [{"role": role, "content": content} for role, content in turns]}
    (turn,) = [message for message in bench.sent(request)["messages"] if message["role"] == "assistant"]
    same(
        "body",
        f"field {bench.facts.reasoning_history!r} of an earlier turn",
        turn.get(bench.facts.reasoning_history),
        "Hm, Paris.",
    )
    same("body", "text of an earlier turn", turn["content"], "I look.")


@rule(lambda facts: facts.images, needs="those with `images`", hint=unless(images=False))
def images_are_sent(bench: Bench) -> None:
    """An image goes to the engine as a part of type `image_url`, beside its text."""
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
    (turn,) = bench.sent({"messages": [{"role": "user", "content": content}]})["messages"]
    parts = turn["content"] if isinstance(turn["content"], list) else []
    urls = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]
    same("body", "image", urls, [f"data:image/png;base64,{PIXEL}"])
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    same("body", "text beside the image", texts, ["What is it?"])


def _bridged(_: EngineFacts) -> str:
    return "with user_after_tool=\"bridge\" in the dialect a user's turn may follow a tool's result"


def _sides(roles: Sequence[str]) -> list[str]:
    """Whose the turns are: several results of tools are one turn of the user's."""
    runs = [(role, len([*run])) for role, run in groupby(roles)]
    return [side for role, many in runs for side in (["user"] if role == "tool" else [role] * many)]


@rule(lambda facts: facts.alternates, needs="those with `alternates`", hint=_bridged)
def turns_alternate(bench: Bench) -> None:
    """No two turns of one side stand side by side, whatever the client's do; no system message is behind the first."""
    use = {"type": "tool_use", "id": "toolu_abc123", "name": "get_weather", "input": {"city": "Paris"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_abc123", "content": "Sunny."}
    more = {"type": "text", "text": "And tomorrow?"}
    late: list[tuple[str, Any]] = [("assistant", "I see."), ("system", "Be brief."), ("user", "Go on.")]
    for turns in (
        [("user", "Hi"), ("user", "Ho"), ("assistant", "One"), ("assistant", "Two"), ("user", "Go on.")],
        [("user", "Hi"), ("assistant", [use]), ("user", [result, more])],
        [("user", "Hi"), ("assistant", [use]), ("user", [result]), ("user", [more]), *late],
    ):
        messages = [{"role": role, "content": content} for role, content in turns]
        sent = bench.sent({"system": "Be kind.", "tools": [TOOL], "messages": messages})["messages"]
        roles = [message["role"] for message in sent]
        sides = _sides(roles)
        same("body", "first roles", sides[:2], [bench.facts.system_role, "user"])
        need(not {"system", "developer"} & {*sides[1:]}, f"a system message is behind the first: {', '.join(roles)}")
        twice = [side for side, after in pairwise(sides) if side == after]
        need(not twice, f"two turns of one side are neighbours: {', '.join(roles)}")


RULES: Final[tuple[Rule, ...]] = (
    calls_and_results_go_back,
    several_results_keep_their_calls,
    reasoning_goes_back,
    images_are_sent,
    turns_alternate,
)
