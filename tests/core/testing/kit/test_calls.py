"""The rules of the call find what is sent too early, and what is left open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from core.chat import Call
from core.testing.kit.calls import (
    RULES,
    a_cancelled_call_still_closes,
    a_wrapper_can_change_the_call,
    leaving_early_ends_the_answer,
)
from tests.core.testing.kit.backends_for_tests import Straight, said


@attrs.frozen(eq=False)
class OpenCall(Call):
    kept: list[Any] = attrs.field(factory=list, kw_only=True)

    def _owned(self, chunks: Any) -> Any:
        self.kept.append(chunks)
        return chunks

    async def __aexit__(self, *raised: object) -> None:
        for chunks in self.kept:
            await chunks.aclose()


@asynccontextmanager
async def held(call: Any) -> AsyncIterator[Any]:
    yield await call.__aenter__()


class Unshielded(Straight):
    def call(self, *arguments: Any) -> Any:
        return OpenCall(*arguments)


class Leaves(Straight):
    def call(self, *arguments: Any) -> Any:
        return held(super().call(*arguments))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_a_call_that_closes_nothing() -> None:
    assert said(leaving_early_ends_the_answer, Leaves) == "leaving the call (break) left the upstream's answer open"


def test_a_call_that_is_no_value() -> None:
    assert "which no wrapper can attrs.evolve" in said(a_wrapper_can_change_the_call, Leaves)


def test_a_call_that_closes_only_when_it_may_wait() -> None:
    assert "a cancelled call left the upstream's answer open" in said(a_cancelled_call_still_closes, Unshielded)
