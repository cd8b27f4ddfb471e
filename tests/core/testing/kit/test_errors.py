"""The rules of failures find errors that come as answers, or as others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from core import Request, Stop, UpstreamError
from core.chat import Call, StopField
from core.testing.kit.errors import RULES, a_cut_answer_is_an_error, retry_after_is_passed_on
from tests.core.testing.kit.backends_for_tests import Straight, said


class Optimist(StopField):
    def flush(self) -> Sequence[Any]:
        return super().flush() or [Stop("end_turn")]


class Trusts(Straight):
    def stop(self, request: Request) -> Any:
        return Optimist("stop_reason", request.stop_sequences)


@attrs.frozen(eq=False)
class HurriedCall(Call):
    async def __aenter__(self) -> Any:
        try:
            return await super().__aenter__()
        except UpstreamError as error:
            raise UpstreamError(error.message, kind=error.kind, status=error.status) from error


class Hurries(Straight):
    def call(self, *arguments: Any) -> Any:
        return HurriedCall(*arguments)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_a_cut_answer_that_is_taken_for_whole() -> None:
    assert "the failure came to the client as an answer" in said(a_cut_answer_is_an_error, Trusts)


def test_a_wait_that_is_lost() -> None:
    assert "the header retry-after is None, not '7'" in said(retry_after_is_passed_on, Hurries)
