"""Moments: as files and commands have them, and the calendar of budgets, which is UTC's."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from plugins.keys.limits import Period

DAY: Final = 86400
MINUTE: Final = 60
_SPAN: Final = re.compile(r"(\d{1,6})([mhdw])")
SPANS: Final = "90m, 24h, 7d or 2w (minutes, hours, days, weeks)"
"""What lengths of time look like, for messages."""
_UNITS: Final = {"m": MINUTE, "h": 3600, "d": DAY, "w": 7 * DAY}


def moment_of(text: str) -> datetime:
    """A moment in UTC: `2027-01-31` (its beginning), or a date and time of ISO 8601. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def text_of(moment: datetime) -> str:
    """The moment as a file has it, in whole seconds."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def span_of(text: str) -> timedelta:
    """A length of time: `90m`, `24h`, `7d`, `2w`. Raises ValueError."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no length of time such as {SPANS}")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def period_start(period: Period, now: float) -> int:
    """The Unix time at which the period began that `now` lies in; a week begins on Monday, `total` with time itself."""
    if period == "total":
        return 0
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "week":
        today -= timedelta(days=today.weekday())
    elif period == "month":
        today = today.replace(day=1)
    return int(today.timestamp())


def period_end(period: Period, now: float) -> float | None:
    """When that period ends; None: never."""
    if period == "total":
        return None
    start = datetime.fromtimestamp(period_start(period, now), UTC)
    if period == "month":
        return (start.replace(day=28) + timedelta(days=4)).replace(day=1).timestamp()
    return (start + timedelta(days=7 if period == "week" else 1)).timestamp()
