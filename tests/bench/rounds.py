"""The run: every subject in every round, in turn, so that what else the machine does hits all alike; then the medians."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs

from tests.bench import bodies, growth
from tests.bench.loads import LOADS, Load
from tests.bench.measure import Figures, Target, check, measure
from tests.bench.open_streams import hold_open
from tests.bench.process import Process, cores, free_port
from tests.bench.subjects import DIRECT, PEER, Subject

PEER_PART: Final = 0.1
"""The part of the requests that a peer gets, lest its rounds take longer than all others."""

OPEN: Final = "open"
START: Final = "start"
Results = dict[str, dict[str, Figures]]
"""Subject to load to figures."""


@attrs.frozen
class Plan:
    """How much is measured."""

    rounds: int = 5
    factor: float = 1.0
    streams: int = 350
    stream_seconds: float = 4.0
    stream_rounds: int = 2
    """On fresh servers; 0: once, on those that ran already (a test's way: their memory says little)."""
    loads: Sequence[Load] = LOADS
    chunks: Sequence[int] = growth.CHUNKS
    sizes: Sequence[int] = growth.SIZES
    growth: bool = True


QUICK: Final = Plan(rounds=2, factor=0.3, streams=200, stream_seconds=1.5, stream_rounds=1, growth=False)


class Run:
    """One run of a plan. `say` is told what happens."""

    def __init__(
        self,
        plan: Plan,
        subjects: Sequence[Subject],
        upstream: tuple[int, Process],
        home: Path,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._plan = plan
        self._subjects = subjects
        self._upstream_port, self._upstream = upstream
        self._home = home
        self._say = say
        self.raw: dict[str, dict[str, list[Figures]]] = {}

    async def run(self) -> Results:
        """All figures. Raises RuntimeError when a subject fails; a peer's failure is told, and its figure left out."""
        with ExitStack() as stack:
            targets = [Target(DIRECT, self._upstream_port, self._upstream)]
            for subject in self._subjects:
                self._say(f"start {subject.name}")
                targets.append(stack.enter_context(self._started(subject)))
            await self._in_turn(targets)
            for target in targets[1:]:
                self._note(target.name, "after", {"rss_mb": target.process.rss() / 2**20})
                if self._plan.growth and target.name != PEER:
                    await self._growth(target)
                if not self._plan.stream_rounds:
                    await self._open_streams(target)
        for number in range(self._plan.stream_rounds):
            for subject in self._subjects:
                self._say(f"{self._plan.streams} open streams, round {number + 1}: {subject.name}")
                with self._started(subject) as target, self._failing(target, "open streams"):
                    await self._open_streams(target)
        return medians(self.raw)

    async def _in_turn(self, targets: Sequence[Target]) -> None:
        for load in self._plan.loads:
            for target in targets:
                await check(target, load)
        for number in range(self._plan.rounds):
            self._say(f"round {number + 1} of {self._plan.rounds}")
            for load in self._plan.loads:
                for target in targets:
                    gc.collect()
                    part = load.times(self._plan.factor * (PEER_PART if target.name == PEER else 1))
                    with self._failing(target, load.title):
                        self._note(target.name, load.name, await measure(target, part, self._upstream))

    async def _growth(self, target: Target) -> None:
        self._say(f"growth: {target.name}")
        with self._failing(target, "growth"):
            chunks = await growth.by_chunks(target, self._plan.chunks)
            sizes = await growth.by_size(target, self._plan.sizes)
            self._note(target.name, "chunks", {**_named(chunks), "bend": growth.bend(chunks)})
            self._note(target.name, "sizes", {**_named(sizes), "bend": growth.bend(sizes)})

    async def _open_streams(self, target: Target) -> None:
        for load in self._plan.loads[:2]:
            await check(target, load)
        figures = await hold_open(target, self._plan.streams, self._plan.stream_seconds)
        self._note(target.name, OPEN, figures)

    @contextmanager
    def _failing(self, target: Target, what: str) -> Iterator[None]:
        """An error gets its place; a peer's is only told."""
        try:
            yield
        except (RuntimeError, TimeoutError) as error:
            if target.name != PEER:
                raise RuntimeError(f"{what} on {target.name}: {error!r}") from error
            self._say(f"{what}: the peer failed: {error!r}")

    @contextmanager
    def _started(self, subject: Subject) -> Iterator[Target]:
        port = free_port()
        process = subject.start(port, self._upstream_port, cores()[1], self._home)
        try:
            seconds = process.wait_until_ready(port, bodies.small())
            self._note(subject.name, START, {"seconds": seconds, "rss_mb": process.rss() / 2**20})
            yield Target(subject.name, port, process)
        finally:
            process.stop()

    def _note(self, subject: str, load: str, figures: Figures) -> None:
        self.raw.setdefault(subject, {}).setdefault(load, []).append(figures)


def medians(raw: dict[str, dict[str, list[Figures]]]) -> Results:
    """Each figure's median over the rounds."""
    return {
        subject: {
            load: {name: median([each[name] for each in rounds if name in each]) for name in rounds[0]}
            for load, rounds in loads.items()
        }
        for subject, loads in raw.items()
    }


def _named(costs: dict[int, float]) -> dict[str, Any]:
    return {f"{size}_ms": cost for size, cost in costs.items()}
