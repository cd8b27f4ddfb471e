"""How often requests may be tried again, all together: retries must not bury a backend that is down already."""

from __future__ import annotations

from typing import Final

SHARE: Final = 0.5
"""What each request pays in."""
CAP: Final = 100.0
"""The most that is kept: so many retries may come at once."""


class RetryBudget:
    """Tokens: a request pays in a half, a retry takes one. Full at the beginning."""

    def __init__(self) -> None:
        self.tokens = CAP

    def deposit(self) -> None:
        """A request came."""
        self.tokens = min(CAP, self.tokens + SHARE)

    def take(self) -> bool:
        """Pay for one retry; False: there is no token left, and none is taken."""
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
