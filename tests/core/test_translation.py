from __future__ import annotations

from typing import Any

import pytest

from core.deltas import Stop, Text
from core.hookspecs import Chunk
from core.raised import PluginError
from core.translation import Translation
from tests.core.fakes import Ends, Words


def test_the_pieces_of_one_read_become_one() -> None:
    both = Translation(Words(), Ends())
    assert both.feed([{"text": "a"}, {}, {"text": "b"}]) == ([Text("ab")], False)


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


class Notes:
    """Keeps what it was told of faults."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, Chunk | None]] = []

    def __call__(self, error: BaseException, hook: str, method: str, chunk: Chunk | None = None) -> None:
        self.told.append((hook, method, chunk))


class Gives:
    """A translator that gives whatever it is made with, on both sides."""

    def __init__(self, feed: Any = (), flush: Any = ()) -> None:
        self.fed, self.flushed = feed, flush

    def feed(self, chunk: Chunk, deltas: Any = None) -> Any:
        return self._give(self.fed)

    def flush(self) -> Any:
        return self._give(self.flushed)

    def _give(self, what: Any) -> Any:
        if isinstance(what, BaseException):
            raise what
        return what


CHUNK: Chunk = {"text": "a"}
CRASH = ValueError("crash")


@pytest.mark.parametrize(
    ("content", "stop", "hook"),
    [
        (Gives(CRASH), Ends(), "translate_content"),
        (Words(), Gives(CRASH), "translate_stop"),
        (Words(), Gives(SystemExit(3)), "translate_stop"),
        (Gives(None), Ends(), "translate_content"),
        (Gives("text"), Ends(), "translate_content"),
        (Gives(["text"]), Ends(), "translate_content"),
        (Words(), Gives(None), "translate_stop"),
        (Words(), Gives(["text"]), "translate_stop"),
        (Words(), Gives(iter(())), "translate_stop"),
    ],
)
def test_a_broken_translator_is_named_with_its_chunk(content: Any, stop: Any, hook: str) -> None:
    notes = Notes()
    with pytest.raises((ValueError, TypeError, PluginError)):
        Translation(content, stop, notes).feed([CHUNK])
    assert notes.told == [(hook, "feed", CHUNK)]


@pytest.mark.parametrize(
    ("content", "stop", "hook"),
    [
        (Gives(flush=CRASH), Ends(), "translate_content"),
        (Gives(flush=[1]), Ends(), "translate_content"),
        (Words(), Gives(flush=CRASH), "translate_stop"),
        (Words(), Gives(flush=None), "translate_stop"),
        (Words(), Gives(flush=[1]), "translate_stop"),
    ],
)
def test_a_broken_flush_is_named(content: Any, stop: Any, hook: str) -> None:
    notes = Notes()
    with pytest.raises((ValueError, TypeError)):
        Translation(content, stop, notes).flush()
    assert notes.told == [(hook, "flush", None)]


def test_a_wrong_type_is_told_in_words() -> None:
    with pytest.raises(TypeError, match="gave str, not a list of deltas"):
        Translation(Gives("abc"), Ends()).feed([CHUNK])
    with pytest.raises(TypeError, match="gave a list with int, which is no delta"):
        Translation(Gives([5]), Ends()).feed([CHUNK])
