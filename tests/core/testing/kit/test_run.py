"""`conformance` runs all rules, or ends with the first that fails."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from core import Delta, hookimpl
from core.testing import conformance
from tests.core.testing.kit.backends_for_tests import FACTS, Bent, Straight

NOTES: dict[str, Delta] = {}


class Raises(Straight):
    def content(self) -> Any:
        return Bent(last=lambda _: [NOTES["voice"]])


def blocked() -> Sequence[Delta]:
    threading.Event().wait()
    return ()


class Hangs(Straight):
    def content(self) -> Any:
        return Bent(last=lambda deltas: [*deltas, *blocked()])


class Misspelt(Straight):
    @hookimpl
    def translate_contents(self) -> None: ...


def test_the_first_failure_ends_the_run_if_it_shall() -> None:
    report = conformance(Raises, engine=FACTS, first=True)
    line = Raises.content.__code__.co_firstlineno + 1
    assert [str(failure) for failure in report.failures] == [
        f"flush-neither-hangs-nor-raises: KeyError was raised: 'voice' (in <lambda>, line {line} of test_run.py)"
    ]


def test_a_rule_that_hangs_ends_the_run() -> None:
    report = conformance(Hangs, engine=FACTS, limit=0.2)
    assert [failure.rule for failure in report.failures] == ["flush-neither-hangs-nor-raises"]
    assert "there-is-one-stop-and-nothing-behind-it" in report.not_run


def test_what_hookline_refuses_at_its_start_is_one_failure() -> None:
    (failure,) = conformance(Misspelt).failures
    assert failure.rule == "loads"
    assert "translate_contents" in failure.sentence


def test_facts_may_be_given_by_name() -> None:
    report = conformance(Straight, first=True, reasoning_field="thoughts")
    assert report.failures[0].rule == "nothing-is-held-back"
    with pytest.raises(TypeError, match="no_such_fact"):
        conformance(Straight, no_such_fact=1)
