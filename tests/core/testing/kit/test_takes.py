"""The rules of what one engine takes find what it would refuse, and what it does not get back."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Request, Route
from core.chat import Call, Content, Dialect, LenientCall, UpstreamClient
from core.testing.kit import takes
from core.testing.kit.takes import RULES
from tests.core.testing.kit.backends_for_tests import FACTS, Straight, said

DIALECT = Dialect(
    allowed_fields=("model", "messages", "max_tokens", "tools", "tool_choice", "stream", "reasoning_effort"),
    tool_id_pattern="[a-z0-9]{9}",
    keep=("details",),
    keep_in_calls=("extra",),
    images="none",
    thinking_on={"reasoning_effort": "high"},
)
MARK = {"signature": "none"}
NEEDS = attrs.evolve(
    FACTS,
    images=False,
    allowed_fields=DIALECT.allowed_fields,
    tool_id_pattern=DIALECT.tool_id_pattern,
    keep=DIALECT.keep,
    keep_in_calls=DIALECT.keep_in_calls,
    with_tools={"tool_choice": "auto"},
    foreign_call={"mark": MARK},
    no_thinking="this model cannot think",
)


@attrs.frozen(eq=False)
class FineCall(LenientCall):
    def body(self) -> dict[str, Any]:
        body = super().body()
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                call.setdefault("mark", MARK)
        return {**body, "tool_choice": body.get("tool_choice", "auto")} if "tools" in body else body


class Fine(Straight):
    def call(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return FineCall(request, route, client, DIALECT)

    def content(self) -> Any:
        return Content(keep=DIALECT.keep, keep_in_calls=DIALECT.keep_in_calls)


@attrs.frozen(eq=False)
class MoodyCall(Call):
    def body(self) -> dict[str, Any]:
        body = super().body()
        return {name: value for name, value in body.items() if name != "tools" or not body.get("stream")}


class Careless(Straight):
    dialect = Dialect(thinking_on={"reasoning_effort": "high"})

    def call(self, request: Request, route: Route, client: UpstreamClient) -> Any:
        return MoodyCall(request, route, client, self.dialect)


FOUND = {
    takes.a_stream_is_asked_for_like_a_whole_answer: "tools differ in the bodies of a client that streams",
    takes.only_fields_that_are_taken_are_sent: "which the engine refuses",
    takes.what_it_cannot_do_is_not_asked_for: "the body has an image, which the engine does not take",
    takes.tools_come_with_what_they_need: "the field 'tool_choice' is None, not 'auto'",
    takes.ids_of_calls_are_such_as_are_taken: "the engine refuses the id 'toolu_01AbC-dEf_9' of an earlier call",
    takes.calls_of_other_models_are_marked: "the field 'mark' is None",
    takes.what_is_wanted_back_goes_back: "'details' goes back as None",
    takes.a_model_that_cannot_think_is_asked_without: "a model that cannot think is told as 400",
}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Fine, NEEDS) == ""


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_careless_one_does_not(rule: Any) -> None:
    assert FOUND[rule] in said(rule, Careless, NEEDS)


def test_a_plain_engine_has_one_of_these_rules() -> None:
    assert [rule for rule in RULES if rule.applies(FACTS)] == [takes.a_stream_is_asked_for_like_a_whole_answer]
