"""The rules of the wire find what depends on the cutting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from core.testing.kit.splits import RULES, cuts_change_nothing
from tests.core.testing.kit.backends_for_tests import Straight, said


@asynccontextmanager
async def thinned(call: Any) -> AsyncIterator[Any]:
    async with call as batches:

        async def some() -> AsyncIterator[Any]:
            async for batch in batches:
                yield [batch[0], *batch[2:]]

        yield some()


class Thins(Straight):
    def call(self, *arguments: Any) -> Any:
        return thinned(super().call(*arguments))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_chunks_that_are_lost_when_several_come_at_once() -> None:
    assert "client stream, upstream stream: the " in said(cuts_change_nothing, Thins)
