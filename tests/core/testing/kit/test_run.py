"""`conformance` runs all rules, or ends with the first that fails."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from core import Delta, hookimpl
from core.chat import Dialect
from core.testing import EngineFacts, conformance
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


def test_facts_that_cannot_be_played_are_one_failure() -> None:
    (failure,) = conformance(Straight, rewrite_error=lambda *_: None).failures
    assert failure.rule == "facts"
    assert "`rewrite_error` must return" in failure.sentence


def test_a_rule_that_is_left_out_is_in_the_report() -> None:
    names = ("images-are-sent", "a-schema-is-sent")
    report = conformance(Straight, engine=FACTS, rules=names, skip={"images-are-sent": "it is blind"})
    assert (report.passed, report.skipped) == (("a-schema-is-sent",), {"images-are-sent": "it is blind"})


def test_a_failure_names_the_fact_that_may_be_wrong() -> None:
    class Blind(Straight):
        dialect = Dialect(images="none")

    for facts, hint in ((EngineFacts(), "; or, where the engine is not so, say EngineFacts(images=False)"),):
        (failure,) = conformance(Blind, engine=facts, rules=("images-are-sent",)).failures
        assert failure.sentence.endswith(hint)


def test_a_match_that_nobody_tells_has_its_remedy() -> None:
    (failure,) = conformance(Straight, rules=("a-match-is-told",)).failures
    assert failure.sentence.endswith('the backend has to find it: wraps = ("stop_scan",) on its class')


def test_facts_may_be_given_by_name() -> None:
    report = conformance(Straight, first=True, reasoning_field="thoughts")
    assert report.failures[0].rule == "nothing-is-held-back"
    with pytest.raises(TypeError, match="no_such_fact"):
        conformance(Straight, no_such_fact=1)
