from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.testing import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from tests.mutants import mutants_in, stops
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

CALL = UpstreamToolCall("f", '{"a":1}')
BROKEN_OFF = Framing(done=False).stream(UpstreamAnswer(usage=None).chunks()[:-1])
ASKED = {"stop_sequences": ["5", "END"]}


def ended(finish: str | None = "stop", **fields: Any) -> Scene:
    return Scene(UpstreamAnswer(finish_reason=finish, **fields), ASKED)


def reported(value: Any, **fields: Any) -> Scene:
    return attrs.evolve(ended(choice={"stop_reason": value}), **fields)


WITNESSES: dict[str, Witness] = {
    "StopIntAsString": witness("message", reported(5)),
    "StopForeignReported": witness("message", reported("</s>")),
    "StopNeverReported": witness("message", reported("END")),
    "StopNullIsAMatch": witness("message", reported(None)),
    "StopOnlyFirstSequence": witness("message", reported("END")),
    "StopSequenceUnnamed": witness("message", reported("END")),
    "StopSequenceWithEndTurn": witness("message", reported("END")),
    "StopLostInJSON": witness("message", reported("END", stream=False)),
    "LengthIsEndTurn": witness("message", ended("length")),
    "LengthWithCallsIsToolUse": witness("message", ended("length", tool_calls=(CALL,))),
    "ToolUseWithoutCalls": witness("message", ended("tool_calls")),
    "CallsLoseToStop": witness("message", ended("stop", tool_calls=(CALL,))),
    "FilterIsEndTurn": witness("message", ended("content_filter")),
    "RefusalIsEndTurn": witness("message", ended("stop", text=None, refusal="I cannot.")),
    "UnknownFinishCrashes": witness("fault", ended("eos")),
    "StopTwice": witness("deltas", ended()),
    "StopMissing": witness("error", ended()),
    "TruncatedIsEndTurn": witness("error", Scene(BROKEN_OFF)),
    "StopBeforeLastText": witness("message", ended(shape=ChunkShape(finish_early=True))),
    "StopBeforeUsage": witness("message", ended()),
}


@pytest.mark.parametrize("name", mutants_in(stops))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(stops)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(stops).keys()
