"""The rules of token counts find lost and swapped ones."""

from __future__ import annotations

from typing import Any

import pytest

from core import Usage
from core.testing.kit.usage import RULES, counts_are_the_engines
from tests.core.testing.kit.backends_for_tests import Bent, Straight, said


class Swaps(Straight):
    def content(self) -> Any:
        return Bent(
            deltas=lambda ds: [Usage(d.output_tokens, d.input_tokens) if isinstance(d, Usage) else d for d in ds]
        )


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_counts_that_are_swapped() -> None:
    assert "usage.input_tokens is 56, not 1234" in said(counts_are_the_engines, Swaps)
