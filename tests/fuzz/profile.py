"""How many examples: a fixed few in CI, as many as HOOKLINE_FUZZ says otherwise, other ones each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

VARIABLE = "HOOKLINE_FUZZ"


def fuzz(examples: int) -> settings:
    """The settings of a test with so many examples in CI; HOOKLINE_FUZZ is a factor."""
    factor = os.environ.get(VARIABLE)
    return settings(
        max_examples=max(1, int(examples * float(factor or 1))),
        deadline=None,
        derandomize=factor is None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if factor else [])],
    )
