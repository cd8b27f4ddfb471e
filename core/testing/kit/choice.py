"""Which rules are run: all that are for the engine, or those that an author names, without those he leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from core.testing.kit.catalogue import RULES, rules_for
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule

_ALL: Final = {rule.name: rule for rule in RULES}


@attrs.frozen
class Choice:
    """The rules to run, and those that are left out, each with its reason."""

    rules: tuple[Rule, ...]
    skipped: Mapping[str, str]

    def all(self) -> Iterable[tuple[Rule, str]]:
        """Every rule of both kinds in order, with the reason to leave it out, "" for none."""
        chosen = {*self.rules}
        return [
            (rule, self.skipped.get(rule.name, "")) for rule in RULES if rule in chosen or rule.name in self.skipped
        ]


def chosen(facts: EngineFacts, names: Sequence[str] = (), skip: Mapping[str, str] | None = None) -> Choice:
    """The rules by these names (none: all), without those in `skip`, whose values are the reasons.

    Raises ValueError for a name that is no rule or one that is not for such an engine, and for a reason that is empty.
    """
    mine = rules_for(facts)
    left = dict(skip or {})
    for name in [*names, *left]:
        _check(name, {rule.name for rule in mine})
    for name, reason in left.items():
        if not (isinstance(reason, str) and reason.strip()):
            raise ValueError(f"rule {name!r} is left out without a reason: skip = {{{name!r}: 'why'}}")
    return Choice(
        tuple(rule for rule in mine if rule.name not in left and (not names or rule.name in names)),
        {rule.name: left[rule.name] for rule in mine if rule.name in left},
    )


def _check(name: str, mine: set[str]) -> None:
    if name not in _ALL:
        raise ValueError(f"there is no rule {name!r}; docs/conformance.md lists them")
    if name not in mine:
        raise ValueError(f"rule {name!r} is not for an engine of these facts: it is for {_ALL[name].needs or 'others'}")
