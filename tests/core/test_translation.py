from __future__ import annotations

from core.deltas import Stop, Text
from core.translation import Translation
from tests.core.fakes import Ends, Words


def test_the_deltas_of_one_read_come_together() -> None:
    both = Translation(Words(), Ends())
    assert both.feed([{"text": "a"}, {}, {"text": "b"}]) == ([Text("a"), Text("b")], False)


def test_nothing_behind_a_stop_counts() -> None:
    both = Translation(Words(), Ends())
    assert both.feed([{"text": "a~held", "now": True}, {"text": "lost"}]) == (
        [Text("a"), Stop("stop_sequence", "now")],
        True,
    )
    assert both.flush() == ([], False)


def test_what_was_held_goes_through_the_stop_translator_once() -> None:
    both = Translation(Words(), Ends())
    both.feed([{"text": "a~b", "end": True}])
    assert both.flush() == ([Text("b"), Stop("end_turn")], True)
    assert both.flush() == ([], False)


def test_an_answer_without_its_end_has_no_stop() -> None:
    both = Translation(Words(), Ends())
    both.feed([{"text": "~b"}])
    assert both.flush() == ([Text("b")], False)
