"""One line of the table [models], or one of the several that a name may have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from core import Candidate

_positive = attrs.validators.ge(1)


def _finite(_: object, attribute: attrs.Attribute[float], value: float) -> None:
    if math.isinf(value):
        # In the words of attrs's own validators, which the start makes a sentence of.
        raise ValueError(f"'{attribute.name}' must be < inf: {value}")


@attrs.frozen
class Entry:
    """Where requests for one name go."""

    backend: str
    """One of [backends.*]."""
    model: str = ""
    """The model's name there; "": the one the client sent."""
    display_name: str = ""
    """What lists of models call it; "": the client's name."""
    max_output_tokens: int | None = attrs.field(default=None, validator=attrs.validators.optional(_positive))
    """The longest answer in tokens: a larger `max_tokens` is lowered to it."""
    context: int | None = attrs.field(default=None, validator=attrs.validators.optional(_positive))
    """The model's window in tokens: `max_tokens` is lowered so that the prompt has room."""
    extra_body: Mapping[str, Any] = attrs.field(factory=dict)
    """Merged into the body for this model, after the backend's."""
    weight: float = attrs.field(default=1.0, validator=[attrs.validators.gt(0), _finite])
    """Of several with the same `priority`, this one's share of the conversations, beside the others' weights."""
    priority: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    """Of several, those with the lowest are tried first."""
    list: bool = False
    """For a glob: also list the models that the backend itself lists and that the glob matches."""

    def model_for(self, name: str) -> str:
        """The upstream's name for the model that the client calls `name`."""
        return self.model or name

    def candidate(self, name: str) -> Candidate:
        """Where a request for `name` may go."""
        limits = (self.max_output_tokens, self.context)
        return Candidate(
            self.backend, self.model_for(name), *limits, self.extra_body, weight=self.weight, priority=self.priority
        )
