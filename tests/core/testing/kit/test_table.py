"""The rules of the table and the options find what the operator wrote in vain."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Secret
from core.chat import Call, Content, Dialect, ReasoningField, chat_body
from core.testing.kit.table import (
    RULES,
    extra_body_is_merged,
    options_that_name_fields_are_used,
    secret_options_are_secrets,
    the_address_is_the_tables,
    unknown_options_are_refused,
)
from tests.core.testing.kit.backends_for_tests import FACTS, Straight, said


@attrs.frozen(eq=False)
class OwnCall(Call):
    def body(self) -> dict[str, Any]:
        return chat_body(
            self.request, candidate=self.route.candidates[0], dialect=Dialect(), stream=self.request.stream
        )


class Stubborn(Straight):
    def call(self, *arguments: Any) -> Any:
        return OwnCall(*arguments)


@attrs.frozen(eq=False)
class Obeys(Straight):
    field: str = "reasoning_content"

    def content(self) -> Any:
        return Content(ReasoningField(self.field))


@attrs.frozen(eq=False)
class Ignores(Straight):
    field: str = "reasoning_content"


@attrs.frozen(eq=False)
class Shows(Straight):
    api_key: str = ""


@attrs.frozen(eq=False)
class TakesAll(Straight):
    tries: Any = 1


@attrs.frozen(eq=False)
class Keeps(Straight):
    api_key: Secret | None = None
    stop_token: str = "</s>"


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Obeys) == ""


class Elsewhere(Straight):
    path = "/v2/complete-chat"


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_another_path_is_known(rule: Any) -> None:
    assert said(rule, Elsewhere, attrs.evolve(FACTS, path="/v2/complete-chat")) == ""


def test_another_path_than_is_said() -> None:
    found = said(the_address_is_the_tables, Elsewhere)
    assert "base/v1/v2/complete-chat?version=7', not 'http://engine.invalid:9000/base/v1/chat/completions" in found
    assert "EngineFacts(path=…)" in found


def test_an_extra_body_that_is_lost() -> None:
    assert "the extra field `seed` is None, not 7" in said(extra_body_is_merged, Stubborn)


def test_an_option_that_changes_nothing() -> None:
    assert "the reasoning is ''" in said(options_that_name_fields_are_used, Ignores)


def test_a_secret_that_is_plain_text() -> None:
    assert said(secret_options_are_secrets, Keeps) == ""
    assert "option 'api_key' is plain text" in said(secret_options_are_secrets, Shows)


def test_an_option_without_a_type() -> None:
    assert "option 'tries' has no type" in said(unknown_options_are_refused, TakesAll)
