"""What a client must get of an answer, made without any of hookline's own reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from core.testing.answers import UpstreamAnswer
from core.testing.fold_checks import need
from core.testing.kit.bench import Played
from core.testing.kit.engine import TAGGED
from core.testing.kit.facts import EngineFacts
from core.testing.replay import Reply


def check_all(
    played: Iterable[Played], answer: UpstreamAnswer, facts: EngineFacts, stop: tuple[str, str | None] | None = None
) -> None:
    """That every client got this answer, whole: order, text, calls, stop and counts."""
    for place, reply in played:
        check_content(place, reply, answer, facts)
        check_stop(place, reply, stop or stop_of(answer))
        check_counts(place, reply, answer)


def check_content(place: str, reply: Reply, answer: UpstreamAnswer, facts: EngineFacts) -> None:
    """Reasoning, text and calls, in order, each once."""
    content = content_of(place, reply)
    text = (answer.text or "") + (answer.refusal or "")
    reasoning = answer.reasoning or ""
    got = joined(content, "thinking")
    tagged = TAGGED in place or (facts.tags is not None and not facts.reasoning_field)
    same(place, "reasoning", got.strip() if tagged else got, reasoning.strip() if tagged else reasoning)
    same(place, "text", joined(content, "text"), text)
    check_calls(place, content, answer, facts)
    order = [kind for kind, there in (("thinking", answer.reasoning), ("text", text)) if there]
    same(place, "order of blocks", [block["type"] for block in content], order + ["tool_use"] * len(answer.tool_calls))
    same(place, "model", reply.message["model"], "client-model")


def check_calls(place: str, content: Iterable[Mapping[str, Any]], answer: UpstreamAnswer, facts: EngineFacts) -> None:
    """Names, inputs and ids of the calls."""
    calls = [block for block in content if block["type"] == "tool_use"]
    same(place, "tools called", [call["name"] for call in calls], [call.name for call in answer.tool_calls])
    for got, wanted in zip(calls, answer.tool_calls, strict=True):
        same(place, f"input of {wanted.name}", got["input"], json.loads(wanted.arguments or "{}"))
        if wanted.id and facts.tool_ids:
            same(place, f"id of {wanted.name}", got["id"], wanted.id)
    need(len({call["id"] for call in calls}) == len(calls), f"{place}: two calls have the same id")


def check_stop(place: str, reply: Reply, wanted: tuple[str, str | None]) -> None:
    """`stop_reason` and `stop_sequence`."""
    content_of(place, reply)
    got = (reply.message["stop_reason"], reply.message["stop_sequence"])
    same(place, "stop (reason and sequence)", got, wanted)


def stop_of(answer: UpstreamAnswer) -> tuple[str, str | None]:
    """The stop of an answer that no stop string ended."""
    if answer.finish_reason == "content_filter" or answer.refusal:
        return "refusal", None
    if answer.finish_reason == "length":
        return "max_tokens", None
    return ("tool_use" if answer.tool_calls else "end_turn"), None


def check_counts(place: str, reply: Reply, answer: UpstreamAnswer) -> None:
    """The token counts; what the engine does not count is estimated, and never 0."""
    for name, theirs in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        got, wanted = reply.message["usage"][name], (answer.usage or {}).get(theirs, 0)
        need(
            got == wanted or (not wanted and got > 0), f"{place}: usage.{name} is {got}, not {wanted or 'an estimate'}"
        )


def check_error(place: str, reply: Reply, words: str = "") -> str:
    """That the answer ended in an error and not as a message; its text, in which the words must be."""
    need(reply.error is not None, f"{place}: the failure came to the client as an answer: {brief(reply.message)}")
    message = str((reply.error or {})["message"])
    need(words in message, f"{place}: the error says {message!r}, without the engine's own words {words!r}")
    need(reply.message.get("stop_reason") is None, f"{place}: an answer that failed has a stop_reason")
    return message


def content_of(place: str, reply: Reply) -> list[dict[str, Any]]:
    """The content of a good answer."""
    need(reply.error is None, f"{place}: a good answer came to the client as an error: {reply.error}")
    content: list[dict[str, Any]] = reply.message["content"]
    return content


def joined(content: Iterable[Mapping[str, Any]], kind: str) -> str:
    """All text of one kind of block."""
    return "".join(block[kind] for block in content if block["type"] == kind)


def same(place: str, what: str, got: Any, wanted: Any) -> None:
    """That a value is the one wanted (True is not 1)."""
    if repr(got) == repr(wanted) or (got == wanted and type(got) is type(wanted)):
        return
    at = 0
    if isinstance(got, str) and isinstance(wanted, str) and brief(got) == brief(wanted):
        ends = (at for at, (one, other) in enumerate(zip(got, wanted, strict=False)) if one != other)
        at = max(0, next(ends, min(len(got), len(wanted))) - 20)
    behind = f" from its character {at} on" if at else ""
    tail = (got[at:], wanted[at:]) if at else (got, wanted)
    need(False, f"{place}: the {what}{behind} is {brief(tail[0])}, not {brief(tail[1])}")


def brief(value: Any, size: int = 160) -> str:
    """A value in few characters."""
    text = repr(value)
    return text if len(text) <= size else f"{text[:size]}…"
