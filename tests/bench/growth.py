"""How the CPU time grows with the number of chunks and with the size of the body: it must stay linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.bench import bodies
from tests.bench.loads import Load
from tests.bench.measure import Target, send

CHUNKS: Final = (200, 800, 3200, 12800)
"""Chunks of a stream."""

SIZES: Final = (2_000_000, 6_000_000, 14_000_000, 30_000_000)
"""Bytes of a body; hookline takes 32 MiB at most. All are larger than a processor's cache, whose end is a bend of its own
(at half a megabyte a byte costs two thirds, on the floor, too)."""


async def by_chunks(target: Target, counts: Sequence[int] = CHUNKS) -> dict[int, float]:
    """Milliseconds of CPU for one stream of so many chunks."""
    return {count: await _cost(target, bodies.streamed(f"text-{count}"), count / counts[-1]) for count in counts}


async def by_size(target: Target, sizes: Sequence[int] = SIZES) -> dict[int, float]:
    """Milliseconds of CPU for one body of so many bytes."""
    return {size: await _cost(target, bodies.large(size), size / sizes[-1]) for size in sizes}


def bend(costs: dict[int, float]) -> float:
    """The cost of one more unit between the two largest sizes over that between the smallest two: 1 is a straight line."""
    (a, first), (b, second), *_ = points = sorted(costs.items())
    (c, third), (d, fourth) = points[-2:]
    return ((fourth - third) / (d - c)) / max((second - first) / (b - a), 1e-12)


async def _cost(target: Target, body: bytes, part: float) -> float:
    """Few requests of the largest, many of the smallest."""
    load = Load("growth", "growth", lambda: body, 2, min(60, max(2, round(2 / part))))
    await send(target.port, load.times(0.3))
    cpu = target.process.cpu()
    await send(target.port, load)
    return (target.process.cpu() - cpu) / load.requests * 1e3
