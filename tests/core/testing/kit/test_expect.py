"""What the kit expects of an answer."""

from __future__ import annotations

import pytest

from core.testing import UpstreamAnswer, UpstreamToolCall
from core.testing.kit.bench import Bench
from core.testing.kit.expect import brief, check_all, check_error, same, stop_of
from core.testing.kit.facts import EngineFacts
from tests.core.testing.kit.backends_for_tests import FACTS, Straight


def test_a_good_answer_is_good_and_another_is_told_apart() -> None:
    bench = Bench((Straight,), FACTS)
    played = bench.serve(bench.engine.answer(text="Hi"))
    check_all(played, UpstreamAnswer(text="Hi"), FACTS)
    with pytest.raises(AssertionError, match="the text is 'Hi', not 'Ho'"):
        check_all(played, UpstreamAnswer(text="Ho"), FACTS)
    with pytest.raises(AssertionError, match="came to the client as an answer"):
        check_error(*played[0])


@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        (UpstreamAnswer(), "end_turn"),
        (UpstreamAnswer(finish_reason="length"), "max_tokens"),
        (UpstreamAnswer(refusal="No."), "refusal"),
        (UpstreamAnswer(tool_calls=(UpstreamToolCall("f"),)), "tool_use"),
    ],
)
def test_the_stop_of_an_answer(answer: UpstreamAnswer, stop: str) -> None:
    assert stop_of(answer) == (stop, None)


def test_a_number_is_no_truth() -> None:
    with pytest.raises(AssertionError, match="here: the count is True, not 1"):
        same("here", "count", True, 1)
    same("here", "table", {"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert len(brief("x" * 999)) < 200


def test_a_long_text_is_shown_where_it_differs() -> None:
    long = "bottle " * 100
    with pytest.raises(AssertionError, match=r"text from its character 678 on is '.* bottle ', not '.* bottl'"):
        same("here", "text", long, long[:-2])


def test_blanks_between_tags_may_be_lost_or_kept() -> None:
    facts = EngineFacts(reasoning_field="", tags=("<t>", "</t>"))
    bench = Bench((Straight,), EngineFacts())
    played = bench.serve(bench.engine.answer(text="Hi", reasoning="Hm."))
    check_all(played, UpstreamAnswer(text="Hi", reasoning=" Hm.\n"), facts)
    with pytest.raises(AssertionError, match=r"the reasoning is 'Hm\.', not ' Hm"):
        check_all(played, UpstreamAnswer(text="Hi", reasoning=" Hm.\n"), EngineFacts())
