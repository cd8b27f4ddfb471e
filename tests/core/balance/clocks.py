"""A clock that goes only when told to."""

from __future__ import annotations


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def even() -> float:
    """Chance that never is for or against."""
    return 0.5
