"""All rules, in the order in which they are run: what would hang comes first."""

from __future__ import annotations

from typing import Final

from core.testing.kit import (
    bodies,
    calls,
    deltas,
    errors,
    flow,
    history,
    reasoning,
    secrets,
    splits,
    stops,
    table,
    takes,
    texts,
    tools,
    usage,
)
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule

GROUPS: Final[dict[str, tuple[Rule, ...]]] = {
    "translators": deltas.RULES,
    "call": calls.RULES,
    "reasoning": reasoning.RULES,
    "text": texts.RULES,
    "stop": stops.RULES,
    "tools": tools.RULES,
    "usage": usage.RULES,
    "errors": errors.RULES,
    "secrets": secrets.RULES,
    "wire": splits.RULES,
    "request": bodies.RULES,
    "history": history.RULES,
    "takes": takes.RULES,
    "table": table.RULES,
    "time": flow.RULES,
}
"""The rules by what they are about."""

RULES: Final[tuple[Rule, ...]] = tuple(rule for rules in GROUPS.values() for rule in rules)


def rules_for(facts: EngineFacts) -> tuple[Rule, ...]:
    """The rules that are for such an engine."""
    return tuple(rule for rule in RULES if rule.applies(facts))
