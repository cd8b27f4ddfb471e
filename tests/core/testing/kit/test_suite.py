"""`BackendConformance` makes a test of each rule."""

from __future__ import annotations

import pytest

from core.testing import BackendConformance
from core.testing.kit.catalogue import rules_for
from core.testing.kit.rule import rule
from core.testing.kit.suite import Run, bound_rules
from tests.core.testing.kit.backends_for_tests import FACTS, Straight


class TestStraight(BackendConformance):
    backend = Straight
    engine = FACTS


def test_a_function_may_call_each_rule() -> None:
    bound = bound_rules(Straight, engine=FACTS)
    assert list(map(str, bound)) == [each.name for each in rules_for(FACTS)]
    bound[0]()


def test_a_failure_says_what_the_rule_wants_and_what_there_is() -> None:
    @rule()
    def birds_talk(bench: object) -> None:
        """Birds talk."""
        raise AssertionError("this one is silent")

    run = Run(bound_rules(Straight)[0].run.bench)
    with pytest.raises(AssertionError, match=r"Birds talk\.\nBut this one is silent"):
        run.check(birds_talk)
    run.hung = "a-rule"
    with pytest.raises(AssertionError, match="not run, because a-rule hung"):
        run.check(birds_talk)
