"""The rules of what is written find text that is tidied up or cut short."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core import Text, ToolUse
from core.testing.kit.texts import (
    RULES,
    arguments_are_passed_on_as_they_are,
    nothing_is_cut_short,
    text_is_passed_on_as_it_is,
)
from tests.core.testing.kit.backends_for_tests import Bent, Straight, said


class Tidies(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Text(d.text.replace("\r", "")) if isinstance(d, Text) else d for d in ds])


class Rewrites(Straight):
    def content(self) -> Any:
        return Bent(
            deltas=lambda ds: [
                attrs.evolve(d, arguments=d.arguments.replace("\u00e9", "e")) if isinstance(d, ToolUse) else d
                for d in ds
            ]
        )


class Brief(Straight):
    def content(self) -> Any:
        return Bent(deltas=lambda ds: [Text(d.text[:5000]) if isinstance(d, Text) else d for d in ds])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_text_that_is_tidied_up() -> None:
    assert "the text is 'a\\nbc" in said(text_is_passed_on_as_it_is, Tidies)


def test_arguments_that_are_changed() -> None:
    assert "the input of write is" in said(arguments_are_passed_on_as_they_are, Rewrites)


def test_a_long_answer_that_is_cut() -> None:
    assert "the text from its character 5030 on is" in said(nothing_is_cut_short, Brief)
