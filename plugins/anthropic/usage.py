"""The token counts of one answer: the engine's own, and an estimate where it gives none."""

from __future__ import annotations

import attrs

from core import Delta, Request, Text, Thinking, TokenEstimate, ToolUse, Usage, estimate_input_tokens


def usage_value(usage: Usage, *, cache_usage: bool) -> dict[str, int]:
    """`usage`; with `cache_usage` its three input counts add up to the prompt, else `input_tokens` is the prompt."""
    if not cache_usage:
        return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    cached = usage.cache_read_tokens + usage.cache_creation_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }


@attrs.define(eq=False)
class UsageCount:
    """Sees all deltas of an answer. A usage that is all zeros tells nothing: no prompt is empty."""

    request: Request
    cache_usage: bool = False
    _told: Usage = attrs.field(init=False, factory=Usage)
    _written: TokenEstimate = attrs.field(init=False, factory=TokenEstimate)

    def add(self, delta: Delta) -> None:
        """Count one delta; a Usage replaces the one before."""
        if isinstance(delta, Usage):
            self._told = delta
        elif isinstance(delta, (Text, Thinking)):
            self._written.add(delta.text)
        elif isinstance(delta, ToolUse):
            self._written.add(delta.name)
            self._written.add(delta.arguments)

    def begun(self) -> dict[str, int]:
        """`usage` of a message that begins: nothing is written yet, and the prompt may not be counted yet."""
        prompt = self._told if self._told.input_tokens else self._estimate()
        return usage_value(attrs.evolve(prompt, output_tokens=0), cache_usage=self.cache_usage)

    def final(self) -> dict[str, int]:
        """`usage` of the finished message."""
        told = self._told.input_tokens or self._told.output_tokens
        return usage_value(self._told if told else self._estimate(), cache_usage=self.cache_usage)

    def _estimate(self) -> Usage:
        return Usage(estimate_input_tokens(self.request), self._written.tokens)
