"""The kit plays an odd engine in its own words: it finds nothing in a correct backend, and every fault in a mutant."""

from __future__ import annotations

from typing import Final

import pytest

from core.testing import conformance
from tests.mutants.odd import MUTANTS
from tests.mutants.odd.quokka import FACTS, Quokka
from tests.mutants.test_score import LIMIT, rows

# A plugin that is interrupted while it hangs leaves coroutines behind that nobody awaits.
pytestmark = pytest.mark.filterwarnings("ignore")

FOUND_BY: Final = {name: rule for name, _, rule in rows("An odd engine")}


def test_the_correct_backend_holds_every_rule() -> None:
    conformance(Quokka, engine=FACTS).assert_ok()


def test_the_page_has_every_mutant_and_its_fault() -> None:
    told = [(name, fault) for name, fault, _ in rows("An odd engine")]
    assert told == [(name, (cls.__doc__ or "").strip()) for name, cls in MUTANTS.items()]


@pytest.mark.parametrize("name", MUTANTS)
def test_the_rule_finds_the_mutant(name: str) -> None:
    report = conformance(MUTANTS[name], engine=FACTS, limit=LIMIT, rules=(FOUND_BY[name],))
    assert [failure.rule for failure in report.failures] == [FOUND_BY[name]]
