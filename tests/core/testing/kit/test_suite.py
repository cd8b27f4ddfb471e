"""`BackendConformance` makes a test of each rule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from core.testing import BackendConformance, EngineFacts
from core.testing.kit.bench import Bench
from core.testing.kit.catalogue import rules_for
from core.testing.kit.rule import Rule, rule
from core.testing.kit.suite import Run, bound_rules
from tests.core.testing.kit.backends_for_tests import FACTS, Straight


class TestStraight(BackendConformance):
    backend = Straight
    engine = FACTS


def test_a_function_may_call_each_rule() -> None:
    bound = bound_rules(Straight, engine=FACTS)
    assert [str(each.values[0]) for each in bound] == [each.name for each in rules_for(FACTS)]
    bound[0].values[0]()


def test_a_failure_says_what_the_rule_wants_and_what_there_is() -> None:
    @rule()
    def birds_talk(bench: object) -> None:
        """Birds talk."""
        raise AssertionError("this one is silent")

    run = Run(Bench((Straight,), FACTS))
    with pytest.raises(AssertionError, match=r"Birds talk\.\nBut this one is silent"):
        run.check(birds_talk)
    run.hung = "a-rule"
    with pytest.raises(AssertionError, match="not run, because a-rule hung"):
        run.check(birds_talk)


class TestSome(BackendConformance):
    backend = Straight
    engine = FACTS
    rules = ("a-match-is-told",)

    def test_rule(self, hookline_rule: Rule) -> None:
        assert hookline_rule.name == "a-match-is-told"
        super().test_rule(hookline_rule)


class WithoutImages(BackendConformance):
    backend = Straight
    rules = ("images-are-sent", "a-schema-is-sent")
    skip: ClassVar[dict[str, str]] = {"images-are-sent": "it is blind"}


def test_a_rule_that_is_left_out_is_skipped_with_its_reason() -> None:
    given: list[Any] = []
    metafunc = SimpleNamespace(
        fixturenames=["hookline_rule"], cls=WithoutImages, parametrize=lambda _, rules: given.extend(rules)
    )
    WithoutImages.pytest_generate_tests(metafunc)
    assert {each.id: len(each.marks) for each in given} == {"images-are-sent": 1, "a-schema-is-sent": 0}
    (bound,) = bound_rules(Straight, rules=("images-are-sent",), skip={"images-are-sent": "it is blind"})
    assert [(mark.name, mark.kwargs) for mark in bound.marks] == [("skip", {"reason": "it is blind"})]


def test_facts_that_cannot_be_played_fail_each_rule() -> None:
    facts = EngineFacts(rewrite=lambda delta: None)  # type: ignore[arg-type, return-value]
    run = Run(Bench((Straight,), facts))
    for rule_ in rules_for(facts)[:2]:
        with pytest.raises(AssertionError, match="the fact `rewrite` gave NoneType, not a dict: it must return"):
            run.check(rule_)
