from __future__ import annotations

import pytest

from plugins.keys.limits import PERIODS, Limits


@pytest.mark.parametrize(
    ("models", "model", "allowed"),
    [
        ((), "anything", True),
        ((), "", True),
        (("small",), "small", True),
        (("small",), "Small", False),
        (("small",), "small ", False),
        (("small",), "small-2", False),
        (("claude-*", "big"), "claude-opus-4", True),
        (("claude-*", "big"), "big", True),
        (("claude-*", "big"), "xclaude-1", False),
        (("claude-*",), "\nclaude-1", False),
        (("*",), "", True),
    ],
)
def test_models_are_names_or_globs_and_none_are_all(models: tuple[str, ...], model: str, allowed: bool) -> None:
    assert Limits(models).allows(model) is allowed


def test_without_a_word_there_is_no_limit() -> None:
    limits = Limits()
    assert (limits.requests_per_minute, limits.tokens_per_minute, limits.max_concurrent) == (0, 0, 0)
    assert (limits.budget_tokens, limits.budget_period) == (0, "month")
    assert PERIODS == ("day", "week", "month", "total")
