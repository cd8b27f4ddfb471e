"""The facts of an engine."""

from __future__ import annotations

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
