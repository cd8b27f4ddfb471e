"""The functions among the facts get the usual form, each once, and are held to their part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from core.testing.kit.engine import piece
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rewriting import Chunk, FactError, copied, joined_calls, own_chunk, own_error, usual_body


def test_delta_and_end_come_before_the_chunk() -> None:
    seen: list[Chunk] = []

    def note(chunk: Chunk) -> Chunk:
        seen.append(copied(chunk))
        return {"chunk": len(seen)}

    facts = EngineFacts(
        rewrite=lambda delta: {"said": delta.pop("content")}, finish_reasons={"stop": "over"}, rewrite_chunk=note
    )
    usual = piece({"content": "Hi"}, "stop")
    assert own_chunk(facts, usual) == {"chunk": 1}
    assert (seen[0]["choices"][0]["delta"], seen[0]["choices"][0]["finish_reason"]) == ({"said": "Hi"}, "over")
    assert usual == piece({"content": "Hi"}, "stop")


@pytest.mark.parametrize("idle", [{"id": "x"}, {"choices": [{"delta": None}]}, {"choices": [{"index": 0}]}])
def test_a_chunk_that_says_nothing_stays(idle: Chunk) -> None:
    assert own_chunk(EngineFacts(rewrite_chunk=lambda _: {}), idle) == idle


def test_counts_alone_go_to_the_chunks_function() -> None:
    assert own_chunk(EngineFacts(rewrite_chunk=lambda _: {"a": 1}), {"choices": [], "usage": {}}) == {"a": 1}


def test_an_error_has_its_status_and_headers() -> None:
    def own(body: Chunk, status: int, headers: Mapping[str, str]) -> tuple[Chunk, Mapping[str, str]]:
        return {"why": body["error"]["message"], "status": status}, {"wait": headers.get("retry-after", "")}

    facts = EngineFacts(rewrite_error=own)
    body = {"error": {"message": "full"}}
    assert own_error(facts, body, 503, {"retry-after": "7"}) == ({"why": "full", "status": 503}, {"wait": "7"})
    assert own_chunk(facts, body) == {"why": "full", "status": 200}
    assert own_error(EngineFacts(), body, 503, {"retry-after": "7"}) == (body, {"retry-after": "7"})


@pytest.mark.parametrize("given", [None, {}, ({}, None), ({}, {}, {})])
def test_an_error_that_is_no_pair_is_told(given: Any) -> None:
    with pytest.raises(FactError, match="`rewrite_error` must return the body and the headers, two dicts; it gave"):
        own_error(EngineFacts(rewrite_error=lambda *_: given), {"error": {}})


@pytest.mark.parametrize("name", ["rewrite", "rewrite_chunk"])
def test_what_returns_nothing_is_told(name: str) -> None:
    told: dict[str, Any] = {name: lambda _: None}
    with pytest.raises(FactError, match=f"the fact `{name}` gave NoneType, not a dict: it must return what"):
        own_chunk(attrs.evolve(EngineFacts(), **told), piece({}))


def test_the_body_comes_back_in_the_usual_form() -> None:
    facts = EngineFacts(usual_body=lambda body: {"messages": body.pop("turns")})
    body: Chunk = {"turns": []}
    assert usual_body(facts, body) == {"messages": []}
    assert body == {"turns": []}


def test_calls_are_joined_where_they_begin() -> None:
    heads = [{"index": at, "id": f"c{at}", "function": {"name": "f", "arguments": "{"}} for at in range(2)]
    rest = [{"index": at, "function": {"arguments": "}"}} for at in range(2)]
    joined = joined_calls([piece({"tool_calls": heads}), {"choices": []}, piece({"tool_calls": rest, "content": "a"})])
    calls = joined[0]["choices"][0]["delta"]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ["{}", "{}"]
    assert joined[2]["choices"][0]["delta"] == {"content": "a"}
