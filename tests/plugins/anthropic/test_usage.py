from __future__ import annotations

import attrs
import pytest

from core import Delta, Text, TextBlock, Thinking, ToolUse, Usage
from plugins.anthropic.usage import UsageCount, usage_value
from tests.plugins.anthropic.folding import REQUEST

LONG = attrs.evolve(REQUEST, system=(TextBlock("x" * 400),))
PROMPT = 104  # four characters a token, and four for the turn


def count(*deltas: Delta, cache_usage: bool = False) -> UsageCount:
    counted = UsageCount(LONG, cache_usage)
    for delta in deltas:
        counted.add(delta)
    return counted


def test_usage_with_cache_counts_adds_up_to_the_prompt() -> None:
    usage = Usage(input_tokens=100, output_tokens=7, cache_read_tokens=60, cache_creation_tokens=10)
    assert usage_value(usage, cache_usage=False) == {"input_tokens": 100, "output_tokens": 7}
    assert usage_value(usage, cache_usage=True) == {
        "input_tokens": 30,
        "output_tokens": 7,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
    }


@pytest.mark.parametrize(
    ("read", "created", "expected"),
    [(60, 0, (0, 50, 0)), (40, 30, (0, 40, 10)), (60, 30, (0, 50, 0)), (0, 60, (0, 0, 50)), (50, 0, (0, 50, 0))],
)
def test_cached_tokens_are_never_more_than_the_prompt(read: int, created: int, expected: tuple[int, ...]) -> None:
    usage = usage_value(Usage(50, 1, read, created), cache_usage=True)
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    assert tuple(usage[name] for name in names) == expected
    assert sum(expected) == 50


@pytest.mark.parametrize("zeros", [[], [Usage()]])
def test_an_engine_that_tells_nothing_is_counted(zeros: list[Delta]) -> None:
    counted = count(Thinking("t" * 20), Text("x" * 20), ToolUse(0, "a" * 16, "i", "name"), *zeros)
    assert counted.begun() == {"input_tokens": PROMPT, "output_tokens": 0}
    assert counted.final() == {"input_tokens": PROMPT, "output_tokens": 15}


def test_the_engines_own_counts_stand() -> None:
    counted = count(Usage(5, 1), Text("x" * 400), Usage(7, 3))
    assert counted.begun() == {"input_tokens": 7, "output_tokens": 0}
    assert counted.final() == {"input_tokens": 7, "output_tokens": 3}


def test_what_the_engine_does_not_tell_is_counted() -> None:
    prompt_untold = count(Usage(0, 3), Text("x" * 400))
    assert prompt_untold.begun() == {"input_tokens": PROMPT, "output_tokens": 0}
    assert prompt_untold.final() == {"input_tokens": PROMPT, "output_tokens": 3}
    assert count(Usage(7, 0), Text("x" * 400)).final() == {"input_tokens": 7, "output_tokens": 100}
    assert count(Usage(0, 3, 80), cache_usage=True).final() == {
        "input_tokens": PROMPT - 80,
        "output_tokens": 3,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 80,
    }


def test_nothing_written_is_no_output() -> None:
    assert count(Usage(7)).final() == {"input_tokens": 7, "output_tokens": 0}


def test_an_estimate_has_no_cached_part() -> None:
    assert count(cache_usage=True).final() == {
        "input_tokens": PROMPT,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
