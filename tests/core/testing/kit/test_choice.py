"""Rules are named, left out with a reason, and a name that is none is told."""

from __future__ import annotations

import pytest

from core.testing import EngineFacts
from core.testing.kit.catalogue import RULES, rules_for
from core.testing.kit.choice import chosen


def test_all_rules_for_the_engine_but_those_left_out() -> None:
    choice = chosen(EngineFacts(), skip={"images-are-sent": "it is blind"})
    assert len(choice.rules) == len(rules_for(EngineFacts())) - 1
    assert choice.skipped == {"images-are-sent": "it is blind"}
    left = [rule.name for rule, reason in choice.all() if reason]
    assert left == ["images-are-sent"]
    assert len(list(choice.all())) == len(rules_for(EngineFacts()))


def test_names_choose() -> None:
    assert [rule.name for rule in chosen(EngineFacts(), ["images-are-sent"]).rules] == ["images-are-sent"]


@pytest.mark.parametrize(
    ("names", "skip", "told"),
    [
        (["no-rule"], {}, r"there is no rule 'no-rule'; docs/conformance\.md lists them"),
        ([], {"no-rule": "why"}, r"there is no rule 'no-rule'"),
        (["stop-sequences-are-sent"], {}, "is not for an engine of these facts: it is for those with a `stop_field`"),
        ([], {"tags-count-in-front-alone": "why"}, "it is for those with `tags`"),
        ([], {"images-are-sent": " "}, "is left out without a reason"),
    ],
)
def test_what_cannot_be_chosen_is_told(names: list[str], skip: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        chosen(EngineFacts(), names, skip)


def test_every_rule_that_is_not_for_all_says_for_whom() -> None:
    facts = [EngineFacts(), EngineFacts(reasoning_field="", schema=False, images=False, tool_choice=False)]
    facts += [EngineFacts(stop_field="x"), EngineFacts(calls_whole=True)]
    some = {rule for each in facts for rule in RULES if not rule.applies(each)}
    assert len(some) > 20
    assert not [rule.name for rule in some if not rule.needs]
