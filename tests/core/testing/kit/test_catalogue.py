"""All rules are there, once, under names of their own, each with a sentence."""

from __future__ import annotations

import re

from core.testing import EngineFacts
from core.testing.kit.catalogue import GROUPS, RULES, rules_for


def test_names_are_unique_and_sentences_are_sentences() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) == sum(map(len, GROUPS.values()))
    assert not [rule.name for rule in RULES if not re.fullmatch(r"[A-Z`].*\.", rule.says)]


def test_an_engine_has_the_rules_that_are_for_it() -> None:
    plain, rich = rules_for(EngineFacts()), rules_for(EngineFacts(stop_field="halted_by"))
    assert {rule.name for rule in rich} - {rule.name for rule in plain} >= {"a-reported-token-is-end-turn"}
