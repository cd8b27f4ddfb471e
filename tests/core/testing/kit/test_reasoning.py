"""The rules of reasoning find reasoning that is lost, doubled, late or made up."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Text, Thinking, ToolUse
from core.chat import Content, ReasoningField
from core.testing.kit.bench import Bench
from core.testing.kit.reasoning import (
    RULES,
    no_reasoning_is_no_block,
    reasoning_between_calls_is_kept,
    reasoning_comes_first_and_apart,
    tags_count_in_front_alone,
)
from core.testing.kit.run import outcome
from tests.core.testing.kit.backends_for_tests import FACTS, Bent, Straight, said


class Forgets(Straight):
    def content(self) -> Any:
        return Content(ReasoningField("thoughts"))


class Shows(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Text(d.text) if isinstance(d, Thinking) else d for d in ds])


class Splits(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Thinking("?") if "<think>" in getattr(d, "text", "") else d for d in ds])


class Ends(Bent):
    called = False

    def feed(self, chunk: Any) -> Any:
        deltas = super().feed(chunk)
        self.called = self.called or any(isinstance(delta, ToolUse) for delta in deltas)
        return [delta for delta in deltas if not (self.called and isinstance(delta, Thinking))]


class Stops(Straight):
    def content(self) -> Any:
        return Ends()


class Imagines(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Thinking("?") if isinstance(d, Text) else d for d in ds])


TAGGED = attrs.evolve(FACTS, reasoning_field="", tags=("<think>", "</think>"))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.applies(FACTS)], ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.applies(TAGGED)], ids=str)
def test_reasoning_between_tags(rule: Any) -> None:
    assert outcome(rule, Bench((Straight, "think_tags"), TAGGED))[1] == ""
    assert "reasoning is ''" in said(rule, Straight, TAGGED) or rule is tags_count_in_front_alone


def test_tags_that_are_found_anywhere() -> None:
    assert "the reasoning is" in said(tags_count_in_front_alone, Splits, TAGGED)


def test_reasoning_that_is_lost_behind_a_call() -> None:
    assert "the reasoning is 'One. '" in said(reasoning_between_calls_is_kept, Stops)


def test_lost_reasoning_is_told_with_its_place() -> None:
    sentence = said(reasoning_comes_first_and_apart, Forgets)
    assert sentence.startswith("client stream, upstream stream: the reasoning is ''")


def test_reasoning_that_is_shown_is_told() -> None:
    assert "the reasoning is ''" in said(reasoning_comes_first_and_apart, Shows)


def test_reasoning_out_of_nothing_is_told() -> None:
    assert "the reasoning is '?" in said(no_reasoning_is_no_block, Imagines)


def test_an_engine_without_reasoning_has_none_of_these_rules() -> None:
    assert not [rule for rule in RULES if rule.applies(attrs.evolve(FACTS, reasoning_field=""))]
