from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.keys.limits import PERIODS, Period
from plugins.keys.moments import moment_of, period_end, period_start, span_of, text_of


def unix(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        ("day", "2028-02-29", "2028-03-01"),
        ("week", "2028-02-28", "2028-03-06"),
        ("month", "2028-02-01", "2028-03-01"),
    ],
)
def test_the_calendar_of_a_leap_day(period: Period, start: str, end: str) -> None:
    now = unix("2028-02-29T23:59:59")
    assert period_start(period, now) == unix(start)
    assert period_end(period, now) == unix(end)


def test_december_ends_with_the_year() -> None:
    assert period_end("month", unix("2027-12-31T12:00:00")) == unix("2028-01-01")


def test_total_has_no_end() -> None:
    assert (period_start("total", 1.8e9), period_end("total", 1.8e9)) == (0, None)


@given(st.floats(0, 4e9), st.sampled_from(PERIODS))
def test_now_is_always_within_its_period_and_the_next_begins_at_its_end(now: float, period: Period) -> None:
    start, end = period_start(period, now), period_end(period, now)
    assert start <= now
    assert start % 86400 == 0
    if end is not None:
        assert now < end
        assert period_start(period, end) == end


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2027-01-31", "2027-01-31T00:00:00Z"),
        ("2027-01-31T10:00:00Z", "2027-01-31T10:00:00Z"),
        ("2027-01-31T10:00:00+02:00", "2027-01-31T08:00:00Z"),
    ],
)
def test_moments_are_utc(text: str, found: str) -> None:
    assert text_of(moment_of(text)) == found
    assert moment_of(found) == moment_of(text)


@pytest.mark.parametrize("text", ["", "soon", "31.1.2027", "2027-13-01"])
def test_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        moment_of(text)


def test_spans() -> None:
    assert [span_of(text) for text in ("90m", "24h", "7d", "2w")] == [
        timedelta(minutes=90),
        timedelta(days=1),
        timedelta(days=7),
        timedelta(days=14),
    ]
    for wrong in ("", "7", "d", "-1d", "1.5h", "7 d", "9999999d"):
        with pytest.raises(ValueError, match="no length of time"):
            span_of(wrong)
