"""The kit's score: how many of the seeded faults it finds, which docs/conformance.md tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from core.testing import EngineFacts, conformance
from tests.mutants import MODULES, MUTANTS, mutants_in
from tests.mutants.reference import Correct

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance.md"
FACTS: Final = EngineFacts(
    reasoning_also=("reasoning",),
    stop_field="stop_reason",
    top_k=True,
    reasoning_history="reasoning_content",
    thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
    thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
    count="tokenize",
)
LIMIT: Final = 10.0
"""Seconds for a rule, before it is taken for hung."""

# A plugin that is interrupted while it hangs leaves coroutines behind that nobody awaits.
pytestmark = pytest.mark.filterwarnings("ignore")


def documented() -> dict[str, tuple[int, int]]:
    """The page's table: mutants and catches by module."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    return {name: (int(number), int(caught)) for name, number, caught in rows}


def survivors() -> set[str]:
    """The page's list of mutants that nothing finds."""
    text = PAGE.read_text().partition("\n## Survivors\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^- `(\w+)`", text, re.MULTILINE))


def test_the_page_has_every_mutant() -> None:
    wanted = {module.__name__.rpartition(".")[2]: len(mutants_in(module)) for module in MODULES}
    assert {name: number for name, (number, _) in documented().items()} == wanted
    assert survivors() <= MUTANTS.keys()
    assert sum(number - caught for number, caught in documented().values()) == len(survivors())


def test_the_correct_backend_holds_every_rule() -> None:
    conformance(Correct, engine=FACTS).assert_ok()


@pytest.mark.parametrize("name", MUTANTS)
def test_the_kit_finds_it(name: str) -> None:
    if name in survivors():
        pytest.skip("a documented survivor")
    assert conformance(MUTANTS[name], engine=FACTS, limit=LIMIT, first=True).failures
