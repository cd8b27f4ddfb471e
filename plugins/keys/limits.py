"""What a key may do."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

import attrs

Period = Literal["day", "week", "month", "total"]
PERIODS: Final[tuple[Period, ...]] = get_args(Period)


@attrs.frozen
class Limits:
    """Models, rates, concurrency and budget; 0 is no limit, and no models are all of them."""

    models: tuple[str, ...] = ()
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    max_concurrent: int = 0
    budget_tokens: int = 0
    budget_period: Period = "month"

    def allows(self, model: str) -> bool:
        """Whether a client may use a model, by the name that it sends."""
        return not self.models or any(fnmatchcase(model, glob) for glob in self.models)


NUMBERS: Final = ("requests_per_minute", "tokens_per_minute", "max_concurrent", "budget_tokens")
"""Those that are numbers."""
MOST: Final = 10**15
"""The largest of them that is taken."""
