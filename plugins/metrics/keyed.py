"""What each client key did. Its names are the operator's own, so there are no more of them than keys."""

from __future__ import annotations

from typing import Final

from core import Record
from plugins.metrics.values import Files, Metric, Value

REQUESTS: Final = Metric("hookline_key_requests", "Requests with a client key, by how they ended.", ("key", "outcome"))
TOKENS: Final = Metric(
    "hookline_key_tokens", "Tokens of a client key, as the engines count them: input or output.", ("key", "direction")
)


class Keyed:
    """One worker's numbers by key; a series is made when it is first met."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._values: dict[tuple[Metric, str, str], Value] = {}

    def take(self, record: Record, outcome: str) -> None:
        """Count a request that is over, if it carried a key."""
        if not record.key:
            return
        self._value(REQUESTS, record.key, outcome).add(1)
        usage, request = record.usage, record.request
        if usage is not None and request is not None and request.task == "message":
            for direction, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if tokens > 0:
                    self._value(TOKENS, record.key, direction).add(tokens)

    def _value(self, metric: Metric, key: str, label: str) -> Value:
        value = self._values.get((metric, key, label))
        if value is None:
            value = self._files.value("counter", metric, (key, label), suffix="_total")
            self._values[metric, key, label] = value
        return value
