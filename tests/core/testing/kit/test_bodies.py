"""The rules of the body find what is missing and what leaks."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.chat import Call, Dialect
from core.testing.kit.bodies import (
    RULES,
    nothing_of_the_clients_protocol_leaks,
    stop_sequences_are_sent,
    the_conversation_is_sent,
    the_token_limit_is_sent,
)
from tests.core.testing.kit.backends_for_tests import FACTS, Straight, said


class Elsewhere(Straight):
    dialect = Dialect(max_tokens_field="max_completion_tokens")


@attrs.frozen(eq=False)
class LeakingCall(Call):
    def body(self) -> dict[str, Any]:
        body = super().body()
        return {**body, "metadata": {"user_id": "u"}, "messages": body["messages"][-1:]}


class Leaks(Straight):
    def call(self, *arguments: Any) -> Any:
        return LeakingCall(*arguments)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_a_limit_in_another_field() -> None:
    assert "the token limit is {'max_completion_tokens': 321}" in said(the_token_limit_is_sent, Elsewhere)


def test_stops_in_another_field() -> None:
    facts = attrs.evolve(FACTS, stops_field="halt")
    assert "the stop sequences are in `stop`, and the engine reads `halt`" in said(
        stop_sequences_are_sent, Straight, facts
    )


def test_what_leaks_and_what_is_lost() -> None:
    assert "body has metadata" in said(nothing_of_the_clients_protocol_leaks, Leaks)
    assert "the conversation is [('user', 'And tomorrow?')]" in said(the_conversation_is_sent, Leaks)
