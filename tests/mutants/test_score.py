"""The kit's score: how many of the seeded faults it finds, which docs/conformance-score.md tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from core.testing import EngineFacts, conformance
from tests.mutants import MODULES, MUTANTS, mutants_in
from tests.mutants.reference import Correct

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance-score.md"
FACTS: Final = EngineFacts(
    reasoning_also=("reasoning",),
    stop_field="stop_reason",
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    count="tokenize",
    max_stops=4,
    keep_in_calls=("extra_content",),
)
LIMIT: Final = 4.0
"""Seconds for a rule, before it is taken for hung."""

# A plugin that is interrupted while it hangs leaves coroutines behind that nobody awaits.
pytestmark = pytest.mark.filterwarnings("ignore")


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of the page, without the ticks."""
    lines = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
    cells = [
        [cell.strip(" `") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("| `")
    ]
    assert cells
    return cells


FOUND_BY: Final = {name: rule for name, _, rule in rows("Mutants")}
"""The rule that finds a mutant, "" for a survivor."""


def test_the_page_has_every_mutant_and_its_fault() -> None:
    told = [(name, fault) for name, fault, _ in rows("Mutants")]
    assert told == [(name, " ".join((cls.__doc__ or "").partition("\n\n")[0].split())) for name, cls in MUTANTS.items()]


def test_the_score_is_the_sum() -> None:
    for name, number, found, unseen in rows("Score"):
        (module,) = (each for each in MODULES if each.__name__.endswith(f".{name}"))
        mine = mutants_in(module)
        assert (int(number), int(found)) == (len(mine), sum(bool(FOUND_BY[each]) for each in mine))
        assert int(unseen) <= int(found)
    assert len(rows("Score")) == len(MODULES)


def test_the_correct_backend_holds_every_rule() -> None:
    conformance(Correct, engine=FACTS).assert_ok()


@pytest.mark.parametrize("name", [name for name, rule in FOUND_BY.items() if rule])
def test_the_rule_finds_the_mutant(name: str) -> None:
    rule = FOUND_BY[name]
    report = conformance(MUTANTS[name], engine=FACTS, limit=LIMIT, rules=() if rule == "loads" else (rule,))
    assert [failure.rule for failure in report.failures] == [rule]
