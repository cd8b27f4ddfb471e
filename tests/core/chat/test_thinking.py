from __future__ import annotations

from typing import Any

import pytest

from core.chat.dialect import Dialect
from core.chat.thinking import EFFORTS, effort_of, nearest, thinking_fields
from core.request import Request, ThinkingConfig

ON, OFF = {"kwargs": {"enable_thinking": True}}, {"kwargs": {"enable_thinking": False}}
THINKER = Dialect(thinking_on=ON, thinking_off=OFF, thinking_budget_field="budget", efforts=EFFORTS)


def fields(dialect: Dialect, thinking: ThinkingConfig | None, effort: Any = None, **limits: int) -> dict[str, Any]:
    request = Request("message", thinking=thinking, effort=effort, max_tokens=limits.get("asked"))
    return thinking_fields(request, dialect, limits.get("limit"))


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (None, {}),
        (ThinkingConfig("disabled"), OFF),
        (ThinkingConfig("between_tools"), OFF),
        (ThinkingConfig("adaptive"), ON),
        (ThinkingConfig("enabled", 2048), {"budget": 2048, **ON}),
    ],
)
def test_thinking(thinking: ThinkingConfig | None, sent: dict[str, Any]) -> None:
    assert fields(THINKER, thinking) == sent
    assert fields(Dialect(), thinking, "high") == {}


def test_an_effort_is_sent_with_or_without_thinking() -> None:
    assert fields(THINKER, None, "max") == {"reasoning_effort": "max"}
    assert fields(THINKER, ThinkingConfig("adaptive"), "low") == {"reasoning_effort": "low", **ON}


def test_an_effort_outdoes_what_stands_for_thinking() -> None:
    dialect = Dialect(thinking_on={"reasoning_effort": "high", "x": 1}, efforts=("low", "high"))
    assert fields(dialect, ThinkingConfig("adaptive"), "low") == {"reasoning_effort": "low", "x": 1}
    assert fields(dialect, ThinkingConfig("adaptive")) == {"reasoning_effort": "high", "x": 1}


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        (THINKER, OFF),
        (Dialect(thinking_off={"reasoning_effort": "none"}, efforts=EFFORTS), {"reasoning_effort": "none"}),
        (Dialect(efforts=("high", "none", "low")), {"reasoning_effort": "none"}),
        (Dialect(efforts=("high", "low")), {"reasoning_effort": "low"}),
        (Dialect(), {}),
    ],
)
def test_off_is_off_whatever_the_effort(dialect: Dialect, sent: dict[str, Any]) -> None:
    assert fields(dialect, ThinkingConfig("disabled"), "high") == sent


@pytest.mark.parametrize(
    ("budget", "effort"),
    [(1024, "low"), (2048, "low"), (2049, "medium"), (8192, "medium"), (24576, "high"), (32000, "xhigh")],
)
def test_a_budget_stands_for_an_effort_where_it_has_no_field(budget: int, effort: str) -> None:
    assert effort_of(budget) == effort
    assert fields(Dialect(efforts=EFFORTS), ThinkingConfig("enabled", budget)) == {"reasoning_effort": effort}
    assert fields(THINKER, ThinkingConfig("enabled", budget)) == {"budget": budget, **ON}
    assert fields(Dialect(efforts=EFFORTS), ThinkingConfig("enabled", budget), "max") == {"reasoning_effort": "max"}


@pytest.mark.parametrize(
    ("asked", "limit", "budget"), [(32000, 32000, 24000), (32000, 8000, 6000), (100_000, 1, 1), (16000, 20000, 24000)]
)
def test_a_budget_shrinks_with_the_token_limit(asked: int, limit: int, budget: int) -> None:
    assert fields(THINKER, ThinkingConfig("enabled", 24000), asked=asked, limit=limit)["budget"] == budget


def test_fields_that_a_strict_engine_does_not_take() -> None:
    strict = Dialect(allowed_fields=("reasoning_effort",), thinking_budget_field="budget", efforts=EFFORTS)
    assert fields(strict, ThinkingConfig("enabled", 1024)) == {"reasoning_effort": "low"}
    strict = Dialect(allowed_fields=("budget",), thinking_budget_field="budget", efforts=EFFORTS)
    assert fields(strict, ThinkingConfig("enabled", 1024), "max") == {"budget": 1024}


@pytest.mark.parametrize(
    ("effort", "known", "expected"),
    [
        ("low", EFFORTS, "low"),
        ("max", EFFORTS, "max"),
        ("max", ("low", "medium", "high"), "high"),
        ("xhigh", ("low", "high", "max"), "high"),
        ("low", ("medium", "high"), "medium"),
        ("medium", ("none", "high"), "high"),
        ("low", ("none", "minimal", "high"), "minimal"),
        ("high", ("none",), "none"),
        ("max", ("high", "ultra"), "high"),
        ("low", ("ultra",), "ultra"),
        ("medium", ("high", "low"), "low"),
    ],
)
def test_the_nearest_effort(effort: str, known: tuple[str, ...], expected: str) -> None:
    assert nearest(effort, known) == expected
