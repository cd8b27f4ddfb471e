from __future__ import annotations

from typing import Any

import pytest

from core import Request, Stop
from core.testing import UpstreamAnswer, UpstreamToolCall
from tests.mutants import mutants_in, state
from tests.mutants.reference import Correct
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

STOP = {"stop_sequences": ["END"]}
MATCHED = Scene(UpstreamAnswer(choice={"stop_reason": "END"}), STOP)
PLAIN = Scene(UpstreamAnswer(), STOP)
OTHERS = Scene(UpstreamAnswer(choice={"stop_reason": "FIN"}), {"stop_sequences": ["FIN"]})
CALL = Scene(UpstreamAnswer(tool_calls=(UpstreamToolCall("f"),), finish_reason="tool_calls"))
OPTION = Scene(UpstreamAnswer(reasoning="Hm.", reasoning_fields=("thought",)), options={"reasoning_field": "thought"})

WITNESSES: dict[str, Witness] = {
    "MatchOnTheClass": witness("message", MATCHED, PLAIN),
    "OneTranslatorForAll": witness("deltas", CALL, CALL),
    "StopMadeOnce": witness("message", MATCHED, OTHERS),
    "OptionIgnored": witness("message", OPTION),
    "HookMisspelt": witness("refused", PLAIN),
    "HookAsync": witness("refused", PLAIN),
    "HookAnswersNone": witness("fault", PLAIN),
}
SIDE_BY_SIDE = "ConcurrentRequestsMixed"


@pytest.mark.parametrize("name", WITNESSES)
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(state)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert {*WITNESSES, SIDE_BY_SIDE} == mutants_in(state).keys()


@pytest.mark.parametrize("at_once", [False, True])
def test_a_mutant_that_is_right_for_one_request_at_a_time(at_once: bool) -> None:
    right = [[Stop("max_tokens")], [Stop("end_turn")]]
    assert two_ends(Correct(), at_once) == right
    assert (two_ends(state.ConcurrentRequestsMixed(), at_once) == right) is not at_once


def two_ends(plugin: Correct, at_once: bool) -> list[Any]:
    """How two answers end, of which one was cut by its length; begun one after the other or both at once."""
    finishes: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]} for reason in ("length", "stop")
    ]
    if at_once:
        both = [plugin.translate_stop(Request("message")) for _ in finishes]
        for translator, chunk in zip(both, finishes, strict=True):
            translator.feed(chunk, [])
        return [translator.flush() for translator in both]
    ends = []
    for chunk in finishes:
        translator = plugin.translate_stop(Request("message"))
        translator.feed(chunk, [])
        ends.append(translator.flush())
    return ends
