"""Requests with `max_tokens: 0`: only the prompt is read, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core import Answer, Delta, GatewayError, Stop, Usage


@attrs.define(eq=False)
class PromptOnly:
    """Lets an answer's usage through, and of its end only that it ended: content [], stop_reason `max_tokens`.

    Engines refuse or ignore a limit of 0, so the upstream was asked for one token; that token is not the client's.
    """

    answer: Answer

    @property
    def status(self) -> int:
        """The answer's."""
        return self.answer.status

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """The answer's."""
        return self.answer.headers

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Usage as it is, any stop as `max_tokens`, no content."""
        kept: list[Delta] = [delta for delta in deltas if isinstance(delta, Usage)]
        if any(isinstance(delta, Stop) for delta in deltas):
            kept.append(Stop("max_tokens"))
        return self.answer.feed(kept)

    def ping(self) -> bytes:
        """The answer's."""
        return self.answer.ping()

    def finish(self) -> bytes:
        """The answer's."""
        return self.answer.finish()

    def fail(self, error: GatewayError) -> bytes:
        """The answer's."""
        return self.answer.fail(error)
