"""Rules are named after their functions, and speak in one sentence."""

from __future__ import annotations

from typing import Any

from core.testing import EngineFacts
from core.testing.kit.rule import leaves, rule, sentence_of, unless


def test_a_rule_has_the_functions_name_and_docstring() -> None:
    @rule()
    def all_is_well(bench: Any) -> None:
        """All is
        well."""

    assert (str(all_is_well), all_is_well.says) == ("all-is-well", "All is well.")


def test_an_assertion_is_told_by_its_first_line() -> None:
    assert sentence_of(AssertionError("the text is lost\n--- before")) == "the text is lost"


def test_a_plugins_exception_is_told_without_its_trace() -> None:
    trace = "the gateway failed:\nTraceback (most recent call last):\n  File 'x'\nValueError: no such field"
    assert sentence_of(AssertionError(trace)) == "the plugin raised ValueError: no such field"


def test_any_other_exception_is_told_with_its_place() -> None:
    try:
        empty: dict[str, str] = {}
        assert empty["voice"]
    except KeyError as error:
        sentence = sentence_of(ExceptionGroup("g", [error]))
    assert sentence.startswith("KeyError was raised: 'voice' (in test_any_other")


def test_leaves_of_a_group() -> None:
    one, two = ValueError("1"), KeyError("2")
    assert list(leaves(ExceptionGroup("g", [one, ExceptionGroup("h", [two])]))) == [one, two]


def test_a_hint_is_given_where_the_fact_was_left() -> None:
    hint = unless(images=False, rewrite_error=...)
    assert hint(EngineFacts()) == "or, where the engine is not so, say EngineFacts(images=False, rewrite_error=…)"
    assert hint(EngineFacts(images=False)) == ""
