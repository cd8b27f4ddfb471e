"""The engine writes its answers as the facts say."""

from __future__ import annotations

import json

from core.testing.kit.engine import Engine, piece
from core.testing.kit.facts import MATCH, EngineFacts


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
    assert {"said": "Hi"} in [chunk["choices"][0]["delta"] for chunk in engine.chunks(answer) if chunk["choices"]]
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
