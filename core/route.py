"""Where a request goes: backends and their models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen
class Candidate:
    """One backend that may serve a request, and the model there.

    `model` is the upstream's name. `max_output_tokens` caps what a request may ask for, `context` is the size of the
    model's window in tokens (None: not known); `extra_body` is merged into the body for this model. Of several
    candidates those of the lowest `priority` are tried first, and of these each gets its share by `weight`, above 0.
    """

    backend: str
    model: str
    max_output_tokens: int | None = None
    context: int | None = None
    extra_body: Mapping[str, Any] = attrs.field(factory=dict, eq=False)
    weight: float = 1.0
    priority: int = 0


@attrs.frozen
class Route:
    """The candidates for a request; while one is tried, a route holds that one alone."""

    candidates: tuple[Candidate, ...]

    @property
    def backend(self) -> str:
        """The first candidate's backend."""
        return self.candidates[0].backend

    @property
    def model(self) -> str:
        """The upstream's name of the model at the first candidate."""
        return self.candidates[0].model
