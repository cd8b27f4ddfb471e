"""How many tokens a request took: what the engine says, or an estimate where the client left before it could."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from core import Answer, Delta, GatewayError, Record, Text, Thinking, TokenEstimate, ToolUse, estimate_input_tokens

MOST: Final = 2**40
"""Tokens of one request that are believed."""


@attrs.define(eq=False)
class Metered:
    """An answer's writer that counts what passes."""

    answer: Answer
    passed: TokenEstimate

    @property
    def status(self) -> int:
        """The answer's own."""
        return self.answer.status

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """The answer's own."""
        return self.answer.headers

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Count the text of the deltas."""
        for delta in deltas:
            if isinstance(delta, Text | Thinking):
                self.passed.add(delta.text)
            elif isinstance(delta, ToolUse):
                self.passed.add(delta.name)
                self.passed.add(delta.arguments)
        return self.answer.feed(deltas)

    def ping(self) -> bytes:
        """The answer's own."""
        return self.answer.ping()

    def finish(self) -> bytes:
        """The answer's own."""
        return self.answer.finish()

    def fail(self, error: GatewayError) -> bytes:
        """The answer's own."""
        return self.answer.fail(error)


def tokens_of(record: Record, passed: TokenEstimate) -> tuple[int, int]:
    """The tokens that a request is charged for, in and out. `passed` is what went to the client.

    Engines count at the end of an answer. A client that leaves before it, or an answer that breaks off, has used the
    prompt and what it got all the same: leaving early makes no request free.
    """
    request, usage = record.request, record.usage
    if request is None or request.task != "message":
        return 0, 0
    read, written = (usage.input_tokens, usage.output_tokens) if usage is not None else (0, 0)
    whole = record.stop is not None and usage is not None
    if not whole and (record.accepted or passed.tokens):
        read = read if read > 0 else estimate_input_tokens(request)
        written = max(written, passed.tokens)
    return _believed(read), _believed(written)


def _believed(tokens: int) -> int:
    return min(max(tokens, 0), MOST)
