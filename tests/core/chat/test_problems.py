from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from core.chat.problems import Problem, ProblemField, error_status, seconds

WORDS = {"overload": "overloaded", "7": 404, "tired": 503}
FIELD = ProblemField("problem", message="why", word="kind", words=WORDS, retry_after="retry-in")


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        (7, 7.0),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        (0, 0.0),
        ("", None),
        (None, None),
        (True, None),
        (-1, None),
        ("-1", None),
        ("soon", None),
        ("9" * 20, None),
        (float("inf"), None),
        (float("nan"), None),
        ([7], None),
        ("Fri, 01 Jan 1999 00:00:00 GMT", 0.0),
    ],
)
def test_seconds(value: Any, wait: float | None) -> None:
    assert seconds(value) == wait


def test_seconds_until_a_date() -> None:
    wait = seconds(format_datetime(datetime.now(UTC) + timedelta(seconds=60)))
    assert wait is not None
    assert 50 < wait <= 60


@pytest.mark.parametrize(
    ("value", "status"),
    [(503, 503), ("404", 404), (200, 0), ("999", 0), ("E404", 0), (None, 0), (True, 0), (404.0, 0)],
)
def test_the_status_of_an_error(value: Any, status: int) -> None:
    assert error_status(value) == status


def test_a_problem_takes_what_the_engine_sent() -> None:
    assert Problem("full", "OVERLOADED", "503", "7") == Problem("full", "overloaded", 503, 7.0)
    assert Problem(None, None, None, None) == Problem({}, [], "x", "soon") == Problem()
    assert Problem(word=1301).word == "1301"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"problem": {"why": "full", "kind": "overload"}}, Problem("full", "overloaded", 0, 7)),
        ({"problem": {"why": "full", "kind": "other"}}, Problem("full", "other", 0, 7)),
        ({"problem": {"why": "gone", "kind": 7}}, Problem("gone", "404", 404, 7)),
        ({"problem": {"kind": "tired"}}, Problem("tired", "503", 503, 7)),
        ({"problem": {"why": ["?"], "kind": {}}}, Problem(retry_after=7)),
        ({"problem": "full"}, Problem("full", retry_after=7)),
        ({"problem": [1]}, Problem(retry_after=7)),
        ({"problem": None, "choices": []}, None),
        ({"problem": {}}, None),
        ({"error": {"why": "full"}}, None),
        (["problem"], None),
        ("problem", None),
        (None, None),
    ],
)
def test_the_problem_in_a_field(body: Any, problem: Problem | None) -> None:
    assert FIELD(body, {"retry-in": "7"}) == problem


def test_the_usual_names_are_the_defaults() -> None:
    told = ProblemField("fault")({"fault": {"message": "no", "type": "x"}}, {"retry-after": "3"})
    assert told == Problem("no", "x", 0, 3)
