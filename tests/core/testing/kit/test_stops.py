"""The rules of the stop find wrong reasons and wrong matches."""

from __future__ import annotations

from typing import Any

import pytest

from core import Request, Stop
from core.chat import FinishReason, StopField
from core.testing.kit.stops import RULES, a_match_is_told, a_reported_token_is_end_turn, the_token_limit_is_max_tokens
from tests.core.testing.kit.backends_for_tests import Straight, said


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


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_a_match_that_is_not_told() -> None:
    assert "the stop (reason and sequence) is ('end_turn', None)" in said(a_match_is_told, Silent)


def test_a_token_that_is_taken_for_a_match() -> None:
    assert "('stop_sequence', '5')" in said(a_reported_token_is_end_turn, Gullible)


def test_a_limit_that_is_taken_for_an_end() -> None:
    assert "not ('max_tokens', None)" in said(the_token_limit_is_max_tokens, Happy)
