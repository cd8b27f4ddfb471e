"""The loads of whole requests: what is sent, on how many connections, how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from tests.bench import bodies

CHUNKS: Final = 200
"""Chunks of a stream."""

PAUSE: Final = 5
"""Milliseconds between the chunks of a stream whose chunks come one by one."""


@attrs.frozen
class Load:
    """One load: in a round, `requests` requests on `connections` connections; `chunks` is how many an answer has."""

    name: str
    title: str
    body: Callable[[], bytes]
    connections: int
    requests: int
    chunks: int = 0

    def times(self, factor: float) -> Load:
        """The same with more or fewer requests."""
        return attrs.evolve(self, requests=max(2, round(self.requests * factor)))


SMALL: Final = Load("small", "small JSON", bodies.small, 32, 1500)
TEXT: Final = Load("text", f"stream, {CHUNKS} text chunks", lambda: bodies.streamed(f"text-{CHUNKS}"), 16, 250, CHUNKS)
TOOLS: Final = Load(
    "tools", f"stream, {CHUNKS} tool-argument chunks", lambda: bodies.streamed(f"tool-{CHUNKS}"), 16, 250, CHUNKS
)
PACED: Final = Load(
    "paced",
    f"stream, {CHUNKS} text chunks one by one",
    lambda: bodies.streamed(f"text-{CHUNKS}-{PAUSE}"),
    20,
    40,
    CHUNKS,
)
AGENT: Final = Load("agent", "agent request, 380 kB", bodies.agent, 8, 80)
BODY: Final = Load("body", "2 MB body", lambda: bodies.large(2_000_000), 4, 24)
ONE: Final = Load("one", "one connection, small JSON", bodies.small, 1, 300)
ONE_STREAM: Final = Load("one_stream", "one connection, stream", TEXT.body, 1, 60, CHUNKS)

LOADS: Final = (SMALL, TEXT, TOOLS, PACED, AGENT, BODY, ONE, ONE_STREAM)
