"""The engine writes its answers as the facts say."""

from __future__ import annotations

import json

import pytest

from core.testing import ChunkShape, UpstreamToolCall
from core.testing.kit.engine import TAGGED, Engine, piece
from core.testing.kit.facts import MATCH, EngineFacts
from core.testing.kit.rewriting import Chunk, FactError


def test_reasoning_and_match_stand_where_the_facts_say() -> None:
    engine = Engine(EngineFacts(reasoning_field="thoughts", stop_field="halted_by", stop_top={"v": {"word": MATCH}}))
    whole = json.loads(engine.wire(engine.stopped("END", reasoning="Hm."), stream=False))
    assert whole["choices"][0]["message"]["thoughts"] == "Hm."
    assert whole["choices"][0]["halted_by"] == "END"
    assert whole["v"] == {"word": "END"}


def test_an_engine_without_reasoning_sends_none() -> None:
    assert Engine(EngineFacts(reasoning_field="")).answer(reasoning="Hm.").reasoning is None


def test_a_rewrite_is_for_pieces_and_for_whole_messages() -> None:
    engine = Engine(EngineFacts(rewrite=lambda delta: {"said": delta.get("content")}))
    answer = engine.answer(text="Hi")
    owned = map(engine.own, engine.chunks(answer))
    assert {"said": "Hi"} in [chunk["choices"][0]["delta"] for chunk in owned if chunk["choices"]]
    assert json.loads(engine.wire(answer, stream=False))["choices"][0]["message"] == {"said": "Hi"}
    assert b'{"said":"Hi"}' in engine.wire(answer, stream=True)


def test_unfinished_chunks_have_no_end() -> None:
    engine = Engine(EngineFacts())
    assert all(not chunk["choices"][0]["finish_reason"] for chunk in engine.unfinished(engine.answer(text="Hello")))
    assert engine.unfinished(engine.answer(finish_reason=None))
    assert engine.stream([piece({})], done=False).count(b"data: ") == 1


def test_reasoning_between_tags_stands_in_the_text() -> None:
    engine = Engine(EngineFacts(reasoning_field="", tags=("<t>", "</t>")))
    whole = json.loads(engine.wire(engine.answer(reasoning="Hm.", text="Hi"), stream=False))
    assert whole["choices"][0]["message"]["content"] == "<t>Hm.</t>Hi"


def test_an_engine_that_has_both_ways_of_reasoning() -> None:
    engine = Engine(EngineFacts(tags=("<t>", "</t>")))
    answer = engine.answer(reasoning="Hm.", text="Hi")
    (_, field), (way, tagged) = engine.ways(answer)
    assert field is answer
    assert (way, tagged.text, tagged.reasoning) == (TAGGED, "<t>Hm.</t>Hi", None)
    assert len(engine.ways(engine.answer(text="Hi"))) == 1
    assert "reasoning_content" in str(engine.chunks(answer))


def test_calls_that_come_whole() -> None:
    calls = (UpstreamToolCall("f", '{"a": 1}', "call_a"), UpstreamToolCall("g", '{"b": 2}', "call_b"))
    engine = Engine(EngineFacts(calls_whole=True))
    answer = engine.answer(text=None, tool_calls=calls, shape=ChunkShape(2, interleaved=True))
    deltas = [choice["delta"] for chunk in engine.chunks(answer) for choice in chunk["choices"]]
    whole = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    assert whole == [{"name": "f", "arguments": '{"a": 1}'}, {"name": "g", "arguments": '{"b": 2}'}]


def test_an_error_is_the_engines() -> None:
    engine = Engine(EngineFacts(rewrite_error=lambda body, status, headers: ({"why": body["error"]["message"]}, {})))
    assert engine.failed({"message": "full"}, 503, {"retry-after": "7"}) == (b'{"why":"full"}', {})
    assert engine.stream([{"error": {"message": "full"}}], done=False) == b'data: {"why":"full"}\n\n'


def test_facts_that_cannot_be_played_are_told() -> None:
    def wrong(chunk: Chunk) -> Chunk:
        return {"text": chunk["choices"][0]["delta"]["content"]}

    with pytest.raises(FactError, match="the fact `rewrite_chunk` raised KeyError: 'content'; it was given"):
        Engine(EngineFacts(rewrite_chunk=wrong)).check()
    Engine(EngineFacts()).check()
