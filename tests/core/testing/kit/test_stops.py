"""The rules of the stop find wrong reasons and wrong matches."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Request, Route, Stop
from core.chat import Call, Dialect, FinishReason, StopField, StopKind, UpstreamClient
from core.testing.kit.bench import Bench
from core.testing.kit.facts import EngineFacts
from core.testing.kit.run import outcome
from core.testing.kit.stops import (
    RULES,
    a_kind_of_stop_names_no_sequence,
    a_match_is_told,
    a_reported_token_is_end_turn,
    matches_in_the_text_are_found,
    no_more_stops_are_sent_than_are_taken,
    the_token_limit_is_max_tokens,
)
from tests.core.testing.kit.backends_for_tests import FACTS, Straight, said


class Silent(Straight):
    def stop(self, request: Request) -> Any:
        return FinishReason()


class AnyStop(StopField):
    def look(self, chunk: Any, choice: Any) -> None:
        self._match = str(choice.get("stop_reason") or "") or self._match


class Gullible(Straight):
    def stop(self, request: Request) -> Any:
        return AnyStop("stop_reason", request.stop_sequences)


class Content(FinishReason):
    def flush(self) -> Any:
        return [Stop("end_turn") for _ in super().flush()]


class Happy(Straight):
    def stop(self, request: Request) -> Any:
        return Content()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.applies(FACTS)], ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


class Few(Straight):
    dialect = Dialect(max_stops=1, stop_field="halt")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.applies(FACTS)], ids=str)
@pytest.mark.parametrize("most", [1, 3])
def test_no_more_stops_are_asked_for_than_are_taken(rule: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Few, "dialect", attrs.evolve(Few.dialect, max_stops=most))
    assert said(rule, Few, attrs.evolve(FACTS, max_stops=most, stops_field="halt")) == ""


class PartedStop(StopField):
    def look(self, chunk: Any, choice: Any) -> None:
        self._match = str(choice.get("stop_reason") or "").split(":")[0] or self._match


class Parts(Straight):
    def stop(self, request: Request) -> Any:
        return PartedStop("stop_reason", request.stop_sequences)


def test_a_match_that_is_parted() -> None:
    assert "not ('stop_sequence', 'a: \"b\"|c')" in said(a_match_is_told, Parts)


def test_a_match_that_is_not_told() -> None:
    assert "the stop (reason and sequence) is ('end_turn', None)" in said(a_match_is_told, Silent)


def test_a_token_that_is_taken_for_a_match() -> None:
    assert "('stop_sequence', '5')" in said(a_reported_token_is_end_turn, Gullible)


def test_a_limit_that_is_taken_for_an_end() -> None:
    assert "not ('max_tokens', None)" in said(the_token_limit_is_max_tokens, Happy)


class Plain(Straight):
    def stop(self, request: Request) -> Any:
        return FinishReason()


@attrs.frozen(eq=False)
class StoplessCall(Call):
    def body(self) -> dict[str, Any]:
        return {name: value for name, value in super().body().items() if name != "stop"}


class Deaf(Plain):
    def call(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return StoplessCall(request, route, client, Dialect(max_stops=None))


KIND = EngineFacts(stop_finish="stop_sequence")


class Kind(Straight):
    def stop(self, request: Request) -> Any:
        return StopKind(request.stop_sequences)


class Guesses(Straight):
    def stop(self, request: Request) -> Any:
        return StopKind(request.stop_sequences[:1])


def test_a_kind_that_is_told_as_the_first_sequence() -> None:
    assert said(a_kind_of_stop_names_no_sequence, Kind, KIND) == ""
    assert "the stop (reason and sequence) is ('stop_sequence', '5')" in said(
        a_kind_of_stop_names_no_sequence, Guesses, KIND
    )


def test_more_stops_than_are_taken() -> None:
    assert said(no_more_stops_are_sent_than_are_taken, Straight, attrs.evolve(FACTS, max_stops=8)) == ""
    assert "5 stop sequences are sent to an engine for 4" in said(
        no_more_stops_are_sent_than_are_taken, Straight, attrs.evolve(FACTS, max_stops=4)
    )


def test_matches_that_the_backend_finds() -> None:
    assert outcome(matches_in_the_text_are_found, Bench((Plain, "stop_scan"), EngineFacts()))[1] == ""
    deaf = outcome(matches_in_the_text_are_found, Bench((Deaf,), EngineFacts()))[1]
    assert "the stop (reason and sequence) is ('end_turn', None)" in deaf
