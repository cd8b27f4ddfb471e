"""The rules of time find an answer that is gathered before it is given."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from core.testing.kit.bench import Bench
from core.testing.kit.flow import RULES, nothing_blocks, the_first_text_does_not_wait_for_the_end
from core.testing.kit.patience import Patience
from core.testing.kit.run import outcome
from tests.core.testing.kit.backends_for_tests import FACTS, Bent, Straight, said


@asynccontextmanager
async def gathered(call: Any) -> AsyncIterator[Any]:
    async with call as batches:

        async def all_at_once() -> AsyncIterator[Any]:
            yield [chunk async for batch in batches for chunk in batch]

        yield all_at_once()


class Sleeps(Straight):
    def content(self) -> Any:
        def slowly(deltas: Any) -> Any:
            time.sleep(0.005)
            return deltas

        return Bent(deltas=slowly)


class Gathers(Straight):
    def call(self, *arguments: Any) -> Any:
        return gathered(super().call(*arguments))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_an_answer_that_is_gathered_first() -> None:
    bench = Bench((Gathers,), FACTS, patience=Patience(0.2))
    _, sentence = outcome(the_first_text_does_not_wait_for_the_end, bench)
    assert sentence == "no text reached the client before the upstream ended, within 0.2 seconds"


def test_a_plugin_that_sleeps() -> None:
    assert "keeps its thread waiting for" in said(nothing_blocks, Sleeps)
