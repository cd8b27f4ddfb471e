from __future__ import annotations

import pytest

from core.testing import Framing, UpstreamAnswer
from tests.mutants import mutants_in, usage
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

CACHED = {"prompt_tokens": 20, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 16}}
FIRST = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}], "usage": CACHED}
LATER = {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}
GROWING = UpstreamAnswer(usage_at="every")

WITNESSES: dict[str, Witness] = {
    "UsageLost": witness("message", Scene()),
    "UsageOnlyFirst": witness("message", Scene(GROWING)),
    "UsageSwapped": witness("message", Scene()),
    "UsageCachedTwice": witness("message", Scene(UpstreamAnswer(usage=CACHED))),
    "UsageSummed": witness("message", Scene(GROWING)),
    "UsageTotalAsOutput": witness("message", Scene()),
    "UsageApartLost": witness("message", Scene()),
    "UsageNullCrashes": witness("fault", Scene(UpstreamAnswer(usage=None, top={"usage": None}))),
    "UsageZeroReplaces": witness("message", Scene(Framing().stream([FIRST, LATER]))),
}


@pytest.mark.parametrize("name", mutants_in(usage))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(usage)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(usage).keys()
