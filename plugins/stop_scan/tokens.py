"""The tokens of an answer that was cut: the engine's counts as far as they came, carried on to the cut."""

from __future__ import annotations

import math
from typing import Final

import attrs

from core import Request, TokenEstimate, Usage, estimate_input_tokens

MOST: Final = 4.0
"""Tokens that an estimated token may be at most: one for each byte. Hidden reasoning would make it look like more."""


@attrs.define(eq=False)
class CutTokens:
    """Counts what the engine wrote (`written`) and, apart, what of it stands before the cut (`kept`)."""

    _request: Request
    written: TokenEstimate = attrs.field(init=False, factory=TokenEstimate)
    kept: TokenEstimate = attrs.field(init=False, factory=TokenEstimate)
    _told: Usage = attrs.field(init=False, factory=Usage)
    _told_at: int = attrs.field(init=False, default=0)

    @property
    def told(self) -> bool:
        """Whether the engine has counted anything of what it wrote."""
        return self._told.output_tokens > 0

    def tell(self, usage: Usage) -> None:
        """The engine's count of all that was written so far."""
        self._told, self._told_at = usage, self.written.tokens

    def usage(self) -> Usage:
        """The counts of what was kept, never 0: a prompt is not empty, and a match was generated."""
        told = self._told.output_tokens
        rate = min(told / self._told_at, MOST) if told and self._told_at else 1.0
        since = self.kept.tokens - (self._told_at if told else 0)
        output = max(1, math.ceil(told + rate * since))
        if self._told.input_tokens:
            return attrs.evolve(self._told, output_tokens=output)
        return Usage(max(1, estimate_input_tokens(self._request)), output)
