"""The facts of an engine."""

from __future__ import annotations

import pytest

from core.chat import Dialect
from core.testing.kit.facts import MATCH, EngineFacts


def test_a_plain_server_reports_no_match() -> None:
    assert not EngineFacts().reports_match


def test_a_field_of_choice_or_chunk_reports_the_match() -> None:
    assert EngineFacts(stop_field="halted_by").reports_match
    assert EngineFacts(stop_top={"verbose": {"word": MATCH}}).reports_match


def test_reasoning_is_in_a_field_or_between_tags() -> None:
    assert EngineFacts().reasons
    assert EngineFacts(reasoning_field="", tags=("<think>", "</think>")).reasons
    assert not EngineFacts(reasoning_field="").reasons


def test_a_dialect_tells_its_part() -> None:
    dialect = Dialect(
        stop_field="halt",
        max_tokens_field="limit",
        max_tokens_limit=9,
        stop=False,
        images="none",
        tool_choice=("auto",),
    )
    facts = EngineFacts.of(dialect, done=False, images=True)
    assert (facts.max_tokens_field, facts.max_tokens_limit, facts.max_stops) == ("limit", 9, None)
    assert (facts.stops_field, facts.stop_field, facts.path) == ("halt", "", "/chat/completions")
    assert (facts.tool_choice, facts.schema, facts.images, facts.done) == (False, True, True, False)
    with pytest.raises(TypeError, match="no_such_fact"):
        EngineFacts.of(dialect, no_such_fact=1)


def test_fields_that_are_not_taken_are_not_sent() -> None:
    facts = EngineFacts.of(Dialect(allowed_fields=("model", "messages"), top_k=True, reasoning_history="parts"))
    assert (facts.sampling, facts.top_k, facts.stream_usage, facts.schema) == (False, False, False, False)
    assert facts.reasoning_history == ""
