from __future__ import annotations

import pytest

from core import Message, Request, TextBlock, Usage, estimate_input_tokens
from plugins.stop_scan.tokens import CutTokens

REQUEST = Request("message", messages=(Message("user", (TextBlock("How are you? " * 9),)),))
PROMPT = estimate_input_tokens(REQUEST)


def counted(before: str, usage: Usage | None, after: str, kept: str) -> Usage:
    tokens = CutTokens(REQUEST)
    tokens.written.add(before)
    if usage is not None:
        tokens.tell(usage)
    tokens.written.add(after)
    tokens.kept.add(kept)
    return tokens.usage()


def test_without_the_engines_counts_they_are_estimated() -> None:
    assert counted("a" * 400, None, "", "a" * 40) == Usage(PROMPT, 10)


def test_nothing_kept_is_still_a_token() -> None:
    assert counted("", None, "", "") == Usage(PROMPT, 1)


def test_counts_of_the_whole_answer_are_those_of_the_part_that_was_kept() -> None:
    assert counted("a" * 400, Usage(30, 200, 20, 5), "", "a" * 40) == Usage(30, 20, 20, 5)


def test_counts_of_the_beginning_are_carried_on() -> None:
    assert counted("a" * 400, Usage(30, 50), "a" * 400, "a" * 600) == Usage(30, 75)


def test_counts_of_just_what_was_kept_stay() -> None:
    assert counted("a" * 100, Usage(30, 77), "", "a" * 100) == Usage(30, 77)


@pytest.mark.parametrize("kept", [0, 10, 39])
def test_hidden_reasoning_stays_counted(kept: int) -> None:
    assert 500 <= counted("a" * 40, Usage(30, 510), "", "a" * kept).output_tokens + (40 - kept) <= 514


@pytest.mark.parametrize("usage", [Usage(30, 0), Usage(0, 0)])
def test_counts_that_know_nothing_of_the_answer_yet(usage: Usage) -> None:
    assert counted("a", usage, "a" * 400, "a" * 40) == Usage(usage.input_tokens or PROMPT, 10)


def test_an_answer_that_is_hidden_so_far() -> None:
    assert counted("", Usage(30, 100), "a" * 40, "a" * 40) == Usage(30, 110)
