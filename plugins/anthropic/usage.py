"""The token counts of one answer: the engine's own, and an estimate where it gives none."""

from __future__ import annotations

import attrs

from core import Delta, Request, Text, Thinking, TokenEstimate, ToolUse, Usage, estimate_input_tokens


def usage_value(usage: Usage, *, cache_usage: bool) -> dict[str, int]:
    """`usage`; with `cache_usage` its three input counts add up to the prompt, else `input_tokens` is the prompt."""
    if not cache_usage:
        return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    # Some engines count cached tokens in whole blocks, beyond the end of the prompt.
    read = min(usage.cache_read_tokens, usage.input_tokens)
    created = min(usage.cache_creation_tokens, usage.input_tokens - read)
    return {
        "input_tokens": usage.input_tokens - read - created,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": read,
    }


@attrs.define(eq=False)
class UsageCount:
    """Sees all deltas of an answer. A count of 0 tells nothing: no prompt is empty, and what was written is no 0."""

    request: Request
    cache_usage: bool = False
    _told: Usage = attrs.field(init=False, factory=Usage)
    _written: TokenEstimate = attrs.field(init=False, factory=TokenEstimate)
    _estimate: int = attrs.field(init=False, default=0)

    def add(self, delta: Delta) -> None:
        """Count one delta; a Usage replaces the one before."""
        if isinstance(delta, (Text, Thinking)):
            self._written.add(delta.text)
        elif isinstance(delta, Usage):
            self._told = delta
        elif isinstance(delta, ToolUse):
            self._written.add(delta.name)
            self._written.add(delta.arguments)

    def begun(self) -> dict[str, int]:
        """`usage` of a message that begins: nothing is written yet, and the prompt may not be counted yet."""
        return self._value(0)

    def final(self) -> dict[str, int]:
        """`usage` of the finished message."""
        return self._value(self._told.output_tokens or self._written.tokens)

    def _value(self, output: int) -> dict[str, int]:
        told = self._told
        if not (told.input_tokens or self._estimate):
            self._estimate = estimate_input_tokens(self.request)
        prompt = told.input_tokens or self._estimate
        counts = Usage(prompt, output, told.cache_read_tokens, told.cache_creation_tokens)
        return usage_value(counts, cache_usage=self.cache_usage)
