"""The answer to `POST /messages/count_tokens`."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core import Delta, UpstreamError, Usage
from plugins.anthropic.envelope import JSONAnswer
from plugins.anthropic.jsontext import dumps


@attrs.define(eq=False)
class CountAnswer(JSONAnswer):
    """Tells how many tokens the prompt has."""

    _usage: Usage | None = attrs.field(init=False, default=None)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Keep the last Usage; always b""."""
        for delta in deltas:
            if isinstance(delta, Usage):
                self._usage = delta
        return b""

    def finish(self) -> bytes:
        """`{"input_tokens": N}`. Raises UpstreamError when no Usage was fed."""
        if self._usage is None:
            raise UpstreamError("The upstream gave no token count")
        return dumps({"input_tokens": self._usage.input_tokens})
