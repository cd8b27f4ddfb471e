"""What happened in the last minute, second by second: a rate without the doors that open at each full minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

WINDOW: Final = 60
"""Seconds that count."""

Second = tuple[int, int]
"""A second of the monotonic clock, and how much happened in it."""


class Window:
    """Amounts of the last minute. Seconds never run backwards: their clock is monotonic."""

    def __init__(self) -> None:
        self._seconds: deque[list[int]] = deque()
        self._sum = 0

    def add(self, second: int, amount: int) -> None:
        """Count an amount."""
        if self._seconds and self._seconds[-1][0] >= second:
            self._seconds[-1][1] += amount
        else:
            self._seconds.append([second, amount])
        self._sum += amount

    def total(self, second: int) -> int:
        """All that counts in that second."""
        while self._seconds and self._seconds[0][0] <= second - WINDOW:
            self._sum -= self._seconds.popleft()[1]
        return self._sum

    def seconds(self) -> list[Second]:
        """The amounts by second, the oldest first."""
        return [(second, amount) for second, amount in self._seconds]


def wait(limit: int, own: Window, others: Iterable[Second], now: float) -> float:
    """Seconds until there is less than `limit` in the minute before; 0 when there is now.

    `now` is the monotonic clock's; `others` is what happened elsewhere.
    """
    second = int(now)
    others = [each for each in others if second - WINDOW < each[0] <= second]
    total = own.total(second) + sum(amount for _, amount in others)
    if total < limit:
        return 0.0
    for begin, amount in sorted([*own.seconds(), *others]):
        total -= amount
        if total < limit:
            return begin + WINDOW - now
    return float(WINDOW)
