"""The rules of earlier turns find ids that do not fit."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.chat import Call, Dialect
from core.testing.kit.history import RULES, calls_and_results_go_back, reasoning_goes_back, turns_alternate
from tests.core.testing.kit.backends_for_tests import FACTS, Straight, said


@attrs.frozen(eq=False)
class MixingCall(Call):
    def body(self) -> dict[str, Any]:
        body = super().body()
        return {
            **body,
            "messages": [
                {**each, **({"tool_call_id": "x"} if each["role"] == "tool" else {})} for each in body["messages"]
            ],
        }


class Mixes(Straight):
    def call(self, *arguments: Any) -> Any:
        return MixingCall(*arguments)


class Remembers(Straight):
    dialect = Dialect(reasoning_history="reasoning_content")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.applies(FACTS)], ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_reasoning_that_goes_back() -> None:
    facts = attrs.evolve(FACTS, reasoning_history="reasoning_content")
    assert said(reasoning_goes_back, Remembers, facts) == ""
    assert "of an earlier turn is None" in said(reasoning_goes_back, Straight, facts)


class Bridges(Straight):
    dialect = Dialect(user_after_tool="bridge")


class Late(Straight):
    dialect = Dialect(user_after_tool="bridge", late_system="keep")


def test_turns_that_do_not_alternate() -> None:
    facts = attrs.evolve(FACTS, alternates=True)
    assert said(turns_alternate, Bridges, facts) == ""
    assert "neighbours: system, user, assistant, tool, user" in said(turns_alternate, Straight, facts)
    assert "a system message is behind the first" in said(turns_alternate, Late, facts)


def test_a_result_under_another_id() -> None:
    assert "the id of a result is 'x'" in said(calls_and_results_go_back, Mixes)
