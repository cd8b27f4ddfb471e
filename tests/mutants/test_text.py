from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from core.testing import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from tests.mutants import mutants_in, text
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

PLAIN = UpstreamAnswer(text="One two three.")
NULLS = UpstreamAnswer(shape=ChunkShape(role="null"))
SHARED = ChunkShape(shared=True)
CALL = UpstreamToolCall("f", '{"a":1}')
HALVES = UpstreamAnswer(text="so 😀", shape=ChunkShape(piece=1, halves=True), framing=Framing(ascii=True))


def chunk(delta: Mapping[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


PARTS = Framing().stream([chunk({"content": [{"type": "text", "text": "in parts"}]}), chunk({}, "stop")])
TWO = Framing().stream([chunk({"content": "a"}), chunk({"content": "b"}, None, 1), chunk({}, "stop")])
SILENT = Framing().stream([chunk({"role": "assistant"}), chunk({"content": "a"}), chunk({}, "stop")])

WITNESSES: dict[str, Witness] = {
    "FirstTextDropped": witness("message", Scene(PLAIN)),
    "LastTextDropped": witness("message", Scene(attrs.evolve(PLAIN, shape=ChunkShape(finish_early=True)))),
    "TextHeldToTheEnd": witness("deltas", Scene(PLAIN)),
    "EmptyTextBlock": witness("deltas", Scene(PLAIN)),
    "NullContentCrashes": witness("fault", Scene(NULLS)),
    "ListContentCrashes": witness("fault", Scene(PARTS)),
    "TextStripped": witness("message", Scene(PLAIN)),
    "TextWithCallSwallowed": witness(
        "message", Scene(UpstreamAnswer(text="See", tool_calls=(CALL,), finish_reason="tool_calls", shape=SHARED))
    ),
    "TextWithReasoningSwallowed": witness("message", Scene(UpstreamAnswer(reasoning="Hm.", text="Yes"), stream=False)),
    "RefusalDropped": witness("message", Scene(UpstreamAnswer(text=None, refusal="I cannot."))),
    "HalfCharacterLost": witness("message", Scene(HALVES)),
    "OtherChoiceMixedIn": witness("message", Scene(TWO)),
    "FeedAnswersNone": witness("fault", Scene(SILENT)),
    "FlushHangs": witness("ended", Scene(PLAIN, limit=0.5)),
    "FlushRaises": witness("fault", Scene(PLAIN)),
}


@pytest.mark.parametrize("name", mutants_in(text))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(text)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(text).keys()
