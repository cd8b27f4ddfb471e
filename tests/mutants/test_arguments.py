from __future__ import annotations

import attrs
import pytest

from core.testing import UpstreamAnswer, UpstreamToolCall
from tests.mutants import arguments, mutants_in
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

CALL = UpstreamToolCall("f", '{"city": "New York", "n": 1}', "call_a")
ONE = UpstreamAnswer(text=None, tool_calls=(CALL,), finish_reason="tool_calls")
LARGE = attrs.evolve(ONE, tool_calls=(UpstreamToolCall("f", '{"n": 9007199254740993}'),))

WITNESSES: dict[str, Witness] = {
    "ArgumentsHeld": witness("deltas", Scene(ONE)),
    "ArgumentsReordered": witness("message", Scene(ONE)),
    "ArgumentsRedumped": witness("message", Scene(LARGE)),
    "ArgumentsEncodedTwice": witness("message", Scene(ONE)),
}


@pytest.mark.parametrize("name", mutants_in(arguments))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(arguments)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(arguments).keys()
