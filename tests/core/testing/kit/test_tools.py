"""The rules of tool calls find lost arguments and foreign ids."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import ToolUse
from core.testing.kit.tools import RULES, a_call_arrives_whole, several_calls_arrive_in_order
from tests.core.testing.kit.backends_for_tests import Bent, Straight, said


class Renames(Straight):
    def content(self) -> Any:
        return Bent(
            deltas=lambda ds: [attrs.evolve(d, id="call_0") if isinstance(d, ToolUse) and d.id else d for d in ds]
        )


class KeepsOne(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [d for d in ds if not isinstance(d, ToolUse) or d.index == 0])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_an_id_that_is_not_the_engines() -> None:
    assert "the id of get_weather is 'call_0', not 'call_a'" in said(a_call_arrives_whole, Renames)


def test_calls_that_are_lost() -> None:
    assert "the tools called is ['get_weather']" in said(several_calls_arrive_in_order, KeepsOne)
