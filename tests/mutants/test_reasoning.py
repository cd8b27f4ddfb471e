from __future__ import annotations

import attrs
import pytest

from core.testing import ChunkShape, UpstreamAnswer
from tests.mutants import mutants_in, reasoning
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

THOUGHT = UpstreamAnswer(text="Yes, of course.", reasoning="Is it so? It is.")
BOTH = UpstreamAnswer(reasoning="It is.", reasoning_fields=("reasoning_content", "reasoning"))
NULLS = UpstreamAnswer(shape=ChunkShape(nulls=True))
SPACED = UpstreamAnswer(reasoning="a b c d e f g h")

WITNESSES: dict[str, Witness] = {
    "ReasoningDropped": witness("message", Scene(THOUGHT)),
    "ReasoningDoubled": witness("message", Scene(THOUGHT)),
    "ReasoningAfterText": witness("message", Scene(THOUGHT, stream=False)),
    "ReasoningNamesAddedUp": witness("message", Scene(BOTH)),
    "ReasoningAsText": witness("message", Scene(THOUGHT)),
    "ReasoningAsThinkTags": witness("message", Scene(THOUGHT)),
    "ReasoningLostInJSON": witness("message", Scene(THOUGHT, stream=False)),
    "ReasoningStripped": witness("message", Scene(SPACED)),
    "ReasoningRequired": witness("fault", Scene(UpstreamAnswer())),
    "ReasoningNullAsWord": witness("message", Scene(NULLS)),
    "ReasoningEmptyBlock": witness("message", Scene(UpstreamAnswer())),
    "ReasoningSecondNameUnread": witness("message", Scene(attrs.evolve(THOUGHT, reasoning_fields=("reasoning",)))),
}


@pytest.mark.parametrize("name", mutants_in(reasoning))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(reasoning)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(reasoning).keys()
