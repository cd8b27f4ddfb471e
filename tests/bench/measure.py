"""One load on one server: its figures."""

from __future__ import annotations

import time
from typing import Final

import attrs

from tests.bench.answers import LAST
from tests.bench.generator import Generator, Outcome, request
from tests.bench.loads import Load
from tests.bench.process import Process

Figures = dict[str, float]
"""Name to value; the unit is at the name's end."""

WARM_UP: Final = 0.1
"""The part of a load's requests that is sent beforehand."""


@attrs.frozen
class Target:
    """A server to be measured: `process` is where its CPU time is read."""

    name: str
    port: int
    process: Process


async def send(port: int, load: Load, *, keep: bool = False) -> Outcome:
    """The load's requests, all answered with 200."""
    data = request(load.body())
    run = Generator(port, data, connections=load.connections, requests=load.requests, keep=keep)
    return await run.run()


async def check(target: Target, load: Load) -> None:
    """One request, whose answer must be whole. Raises RuntimeError when it is not."""
    outcome = await send(target.port, attrs.evolve(load, requests=1), keep=True)
    if LAST.encode() not in outcome.last:
        raise RuntimeError(f"{target.name}, {load.title}: the answer has no end: {outcome.last[-600:]!r}")


async def measure(target: Target, load: Load, upstream: Process) -> Figures:
    """The figures of one round, after a warm-up."""
    await send(target.port, load.times(WARM_UP))
    cpu, own, script = target.process.cpu(), time.process_time(), upstream.cpu()
    outcome = await send(target.port, load)
    wall = outcome.wall
    spent = target.process.cpu() - cpu
    figures = {
        "cpu_ms": spent / load.requests * 1e3,
        "per_second": load.requests / wall,
        "p50_ms": quantile(outcome.times, 0.5) * 1e3,
        "p99_ms": quantile(outcome.times, 0.99) * 1e3,
        "busy": spent / wall,
        "load_busy": (time.process_time() - own + upstream.cpu() - script) / wall,
    }
    if load.chunks:
        figures["chunk_us"] = spent / load.requests / load.chunks * 1e6
    if outcome.firsts:
        figures["first_p50_ms"] = quantile(outcome.firsts, 0.5) * 1e3
        figures["first_p99_ms"] = quantile(outcome.firsts, 0.99) * 1e3
    return figures


def quantile(values: list[float], part: float) -> float:
    """The value below which that part of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")
