from __future__ import annotations

import attrs
import pytest

from core.chat.names import alias
from core.testing import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from tests.mutants import mutants_in, tools
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

F = UpstreamToolCall("f", '{"city": "New York", "n": 1}', "call_a")
G = UpstreamToolCall("g", '{"deep": [1, {"x": "y"}]}', "call_b")
ONE = UpstreamAnswer(text=None, tool_calls=(F,), finish_reason="tool_calls")
TWO = attrs.evolve(ONE, tool_calls=(F, G))
TURNS = attrs.evolve(TWO, shape=ChunkShape(interleaved=True))
UNNUMBERED = attrs.evolve(ONE, shape=ChunkShape(numbered=False, piece=0))
NO_ID = attrs.evolve(ONE, tool_calls=(UpstreamToolCall("f", "{}", None),))
OBJECT = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"a": 1}}}
AS_OBJECT = Framing().stream(
    [{"choices": [{"index": 0, "delta": {"tool_calls": [OBJECT]}, "finish_reason": "tool_calls"}]}]
)
NO_OBJECT = attrs.evolve(ONE, tool_calls=(UpstreamToolCall("f", "a=1"),))
LONG = "mcp__a.server__" + "long_" * 20
ALIASED = attrs.evolve(ONE, tool_calls=(UpstreamToolCall(alias(LONG, 64)),))

WITNESSES: dict[str, Witness] = {
    "ArgumentsLostAtCut": witness("message", Scene(ONE)),
    "ArgumentsStripped": witness("message", Scene(attrs.evolve(ONE, shape=ChunkShape(piece=1)))),
    "ArgumentsObjectCrashes": witness("fault", Scene(AS_OBJECT)),
    "CallsMixed": witness("message", Scene(TURNS)),
    "CallsAllInOne": witness("message", Scene(TWO)),
    "UnnumberedCallsLost": witness("message", Scene(UNNUMBERED)),
    "CallsWithoutIdLost": witness("message", Scene(NO_ID)),
    "CallIdsChanged": witness("message", Scene(ONE)),
    "CallIdsRepeated": witness("message", Scene(TWO)),
    "CallNameLost": witness("message", Scene(ONE)),
    "CallsNumberedFromOne": witness("deltas", Scene(ONE)),
    "SecondCallLost": witness("message", Scene(TWO)),
    "CallsLost": witness("message", Scene(ONE)),
    "CallWithoutStart": witness("deltas", Scene(ONE)),
    "UnfinishedCallLost": witness("message", Scene(NO_OBJECT)),
    "CallsLostInJSON": witness("message", Scene(ONE, stream=False)),
    "CallsUnordered": witness("message", Scene(TURNS)),
    "CallAliasShown": witness(
        "message", Scene(ALIASED, {"tools": [{"name": LONG, "input_schema": {"type": "object"}}]})
    ),
}


@pytest.mark.parametrize("name", mutants_in(tools))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(tools)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(tools).keys()
