"""The rules of reasoning find reasoning that is lost, doubled, late or made up."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Text, Thinking
from core.chat import Content, ReasoningField
from core.testing.kit.reasoning import RULES, no_reasoning_is_no_block, reasoning_comes_first_and_apart
from tests.core.testing.kit.backends_for_tests import FACTS, Bent, Straight, said


class Forgets(Straight):
    def content(self) -> Any:
        return Content(ReasoningField("thoughts"))


class Shows(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Text(d.text) if isinstance(d, Thinking) else d for d in ds])


class Imagines(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Thinking("?") if isinstance(d, Text) else d for d in ds])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight, attrs.evolve(FACTS, reasoning_also=())) == "" or rule.name.endswith("comes-once")


def test_lost_reasoning_is_told_with_its_place() -> None:
    sentence = said(reasoning_comes_first_and_apart, Forgets)
    assert sentence.startswith("client stream, upstream stream: the reasoning is ''")


def test_reasoning_that_is_shown_is_told() -> None:
    assert "the reasoning is ''" in said(reasoning_comes_first_and_apart, Shows)


def test_reasoning_out_of_nothing_is_told() -> None:
    assert "the reasoning is '?" in said(no_reasoning_is_no_block, Imagines)


def test_an_engine_without_reasoning_has_none_of_these_rules() -> None:
    assert not [rule for rule in RULES if rule.applies(attrs.evolve(FACTS, reasoning_field=""))]
