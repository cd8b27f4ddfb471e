from __future__ import annotations

import pytest

from core import Secret
from core.testing import UpstreamAnswer
from tests.mutants import call, mutants_in
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

LONG = UpstreamAnswer(text="One two three four five six seven.")
KEY = {"key": Secret("sk-upstream-0001")}

WITNESSES: dict[str, Witness] = {
    "NeverClosed": witness("closed", Scene()),
    "ReadOutOnLeaving": witness("reads", Scene(LONG, halt=3)),
    "LeavingNotHeard": witness("ended", Scene(LONG.sse()[:-300], end="open", leaves=True, limit=1.0)),
    "CallCollectsAll": witness("deltas", Scene(LONG)),
    "SentBeforeEntering": witness("sent", Scene(intercepts=True)),
    "BodyBuiltTooEarly": witness("sent", Scene(rewrites={"max_tokens": 3})),
    "SentAfterEntering": witness("entering", Scene(b'{"error":{"message":"no"}}', status=400)),
    "SentTwice": witness("sent", Scene()),
    "KeyNotSent": witness("sent", Scene(backend=KEY)),
}


@pytest.mark.parametrize("name", mutants_in(call))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(call)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(call).keys()
