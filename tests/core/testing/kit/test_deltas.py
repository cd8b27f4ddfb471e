"""The rules of the translators find what they hold, double or share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from core import Delta, Request, Route, Text
from core.chat import Call, Content, StopField, UpstreamClient
from core.testing.kit.bench import Bench
from core.testing.kit.deltas import (
    RULES,
    flush_neither_hangs_nor_raises,
    nothing_is_held_back,
    requests_share_nothing,
    there_is_one_stop_and_nothing_behind_it,
    translators_are_new_each_time,
)
from core.testing.kit.run import outcome
from tests.core.testing.kit.backends_for_tests import FACTS, Bent, Straight, said


class TwiceStop(StopField):
    def flush(self) -> Sequence[Delta]:
        return [*super().flush(), *super().flush()]


class Twice(Straight):
    def stop(self, request: Request) -> Any:
        return TwiceStop("stop_reason", request.stop_sequences)


class Hoard(Bent):
    def __init__(self) -> None:
        super().__init__(deltas=self.keep, last=lambda ds: [*self.kept, *ds])
        self.kept: list[Delta] = []

    def keep(self, deltas: Sequence[Delta]) -> Sequence[Delta]:
        self.kept += [delta for delta in deltas if isinstance(delta, Text)]
        return [delta for delta in deltas if not isinstance(delta, Text)]


class Hoards(Straight):
    def content(self) -> Any:
        return Hoard()


@attrs.frozen(eq=False)
class Shares(Straight):
    one: Any = attrs.field(init=False, factory=Content)

    def content(self) -> Any:
        return self.one


def blocked() -> Sequence[Delta]:
    threading.Event().wait()
    return ()


class Hangs(Straight):
    def content(self) -> Any:
        return Bent(last=lambda deltas: [*deltas, *blocked()])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


class Usual(Straight):
    def call(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return Call(request, route, client, usual=lambda chunk: {**chunk, "seen": True})


class Changes(Straight):
    def content(self) -> Any:
        return Bent(chunk=lambda chunk: chunk.pop("choices", None) and chunk)


def test_a_chunk_that_is_changed_by_a_translator_and_not_by_the_call() -> None:
    assert said(translators_are_new_each_time, Usual) == ""
    assert "the chunk after it was fed is" in said(translators_are_new_each_time, Changes)


def test_two_stops() -> None:
    assert "a whole answer gave 2 Stops" in said(there_is_one_stop_and_nothing_behind_it, Twice)


def test_text_that_waits_for_the_end() -> None:
    assert "after 'One' the client has ''" in said(nothing_is_held_back, Hoards)


def test_a_translator_for_all() -> None:
    assert "the outcome is" in said(requests_share_nothing, Shares)


def test_a_flush_that_hangs_is_interrupted() -> None:
    hung, sentence = outcome(flush_neither_hangs_nor_raises, Bench((Hangs,), FACTS), 0.2)
    assert hung
    assert sentence == "the plugin blocks: the rule did not end within 0.2 seconds"
