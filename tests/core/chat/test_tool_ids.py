from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.tool_ids import ToolIds, check_pattern
from core.errors import RequestError

NINE = "[a-zA-Z0-9]{9}"
PATTERNS = [NINE, "call_[a-z0-9]{24}", "[0-9]+", "[A-Z]{5}", "[a-zA-Z0-9_-]{1,40}", r"call_\w+|toolu_\w+"]


def test_without_a_pattern_every_id_is_kept() -> None:
    ids = ToolIds()
    assert [ids.sent(identity) for identity in ("toolu_01", "", "a b|:1", "x" * 200)] == [
        "toolu_01",
        "",
        "a b|:1",
        "x" * 200,
    ]


def test_a_fitting_id_is_kept_and_another_is_always_the_same() -> None:
    assert ToolIds(NINE).sent("abcDEF123") == "abcDEF123"
    first = ToolIds(NINE)
    assert first.sent("toolu_01") == first.sent("toolu_01") == ToolIds(NINE).sent("toolu_01") == "gg2pffzjq"
    assert ToolIds(NINE).sent("abcDEF123\n") != "abcDEF123\n"


@pytest.mark.parametrize("pattern", PATTERNS)
@given(st.lists(st.text(max_size=12), unique=True, max_size=12))
def test_ids_fit_and_differ_and_stay_when_more_come(pattern: str, given_ids: list[str]) -> None:
    ids = ToolIds(pattern)
    sent = [ids.sent(identity) for identity in given_ids]
    assert all(re.fullmatch(pattern, identity) for identity in sent)
    assert len(set(sent)) == len(sent)
    earlier = ToolIds(pattern)
    assert [earlier.sent(identity) for identity in given_ids[:5]] == sent[:5]


def test_an_id_that_is_already_another_s_gets_a_new_one() -> None:
    ids = ToolIds(NINE)
    taken = ids.sent("toolu_01")
    assert ids.sent(taken) != taken
    assert ids.sent("toolu_01") == taken


def test_too_few_ids() -> None:
    ids = ToolIds("[0-9]")
    with pytest.raises(RequestError, match="no id of a tool call can be made") as caught:
        [ids.sent(f"call {number}") for number in range(11)]
    assert caught.value.status == 400


def test_patterns_are_checked() -> None:
    for pattern in ("", *PATTERNS):
        check_pattern(pattern)
    with pytest.raises(ValueError, match="is no regular expression: "):
        check_pattern("[")
    with pytest.raises(ValueError, match="matches no id that can be made"):
        check_pattern("ä+")
