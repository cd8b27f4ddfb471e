"""Between the usual form and an engine's own, by the functions among its facts; what they do wrong is told plainly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from core.testing.kit.facts import EngineFacts

Chunk = dict[str, Any]


class FactError(AssertionError):
    """A function among the facts raised, or did not return what it must; the text says which, and on what."""


def own_chunk(facts: EngineFacts, chunk: Chunk) -> Chunk:
    """A chunk or a completion of the usual form in the engine's, which is another; one that says nothing as it is."""
    if not (facts.rewrite or facts.rewrite_chunk or facts.rewrite_error or facts.finish_reasons):
        return chunk
    mine: Chunk = copied(chunk)
    if "error" in mine and not mine.get("choices"):
        return own_error(facts, mine)[0]
    choices = mine.get("choices")
    if not isinstance(choices, list) or not all(map(_says, choices)):
        return mine
    for choice in choices:
        for name in ("delta", "message"):
            if name in choice and facts.rewrite is not None:
                choice[name] = _told("rewrite", facts.rewrite, choice[name])
        finish = choice.get("finish_reason")
        choice["finish_reason"] = facts.finish_reasons.get(finish, finish)
    return mine if facts.rewrite_chunk is None else _told("rewrite_chunk", facts.rewrite_chunk, mine)


def own_error(
    facts: EngineFacts, body: Chunk, status: int = 200, headers: Mapping[str, str] | None = None
) -> tuple[Chunk, Mapping[str, str]]:
    """The usual body of an error, `{"error": {"message": …, "type": …}}`, and its headers, in the engine's form."""
    usual = dict(headers or {})
    if facts.rewrite_error is None:
        return body, usual
    given = _called("rewrite_error", facts.rewrite_error, body, status, usual)
    if not (
        isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], dict) and isinstance(given[1], Mapping)
    ):
        raise FactError(f"the fact `rewrite_error` must return the body and the headers, two dicts; it gave {given!r}")
    return given


def usual_body(facts: EngineFacts, body: Any) -> Any:
    """The body that reached the engine, in the usual form."""
    return body if facts.usual_body is None else _told("usual_body", facts.usual_body, copied(body))


def joined_calls(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks with each call's pieces put together where it begins, as new ones."""
    chunks = copied(chunks)
    begun: dict[int, Any] = {}
    for chunk in chunks:
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            heads = [call for call in delta.get("tool_calls") or () if _is_head(call, begun)]
            if heads:
                delta["tool_calls"] = heads
            else:
                delta.pop("tool_calls", None)
    return chunks


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    return json.loads(json.dumps(value))


def _is_head(call: Chunk, begun: dict[int, Any]) -> bool:
    """Whether a call begins here; if not, its arguments go to where it began."""
    number = call.get("index")
    if number not in begun:
        begun[len(begun) if number is None else number] = call
        return True
    begun[number]["function"]["arguments"] += call["function"].get("arguments") or ""
    return False


def _says(choice: Any) -> bool:
    return any(isinstance(choice.get(name), dict) for name in ("delta", "message"))


def _told(name: str, function: Callable[[Chunk], Any], value: Chunk) -> Chunk:
    given = _called(name, function, value)
    if not isinstance(given, dict):
        raise FactError(
            f"the fact `{name}` gave {type(given).__name__}, not a dict: it must return what it was given, rewritten"
        )
    return given


def _called(name: str, function: Callable[..., Any], value: Chunk, *more: Any) -> Any:
    shown = json.dumps(value, ensure_ascii=False)
    try:
        return function(value, *more)
    except Exception as error:
        raise FactError(
            f"the fact `{name}` raised {type(error).__name__}: {error}; it was given {shown[:400]}"
        ) from error
