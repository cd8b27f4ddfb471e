"""The soak's figures, as they are printed and as docs/reliability.md shows them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import attrs

from tests.soak.watch import Sample


@attrs.define
class Report:
    """What a soak found. `complaints` is all that was not as it should be."""

    streams: int
    seconds: float
    outcomes: Mapping[str, int] = attrs.field(factory=dict)
    complaints: list[str] = attrs.field(factory=list)
    hung: int = 0
    added: list[float] = attrs.field(factory=list)
    lasted: float = 0.0
    flying: float = 0.0
    trouble: list[str] = attrs.field(factory=list)
    samples: list[Sample] = attrs.field(factory=list)
    began: float = 0.0
    grown: Mapping[int, int] = attrs.field(factory=dict)
    quiet: list[Mapping[str, Any]] = attrs.field(factory=list)
    """The census before the load."""
    after: list[Mapping[str, Any]] = attrs.field(factory=list)
    """The census after it."""
    upstream: tuple[int, int, int] = (0, 0, 0)
    """The upstream's connections: the most, those that are left after the load, and those of them with a request."""
    drain: float = 0.0
    status: int | None = None
    lag: float = 0.0
    """The longest time for which the test's own loop did nothing else, in seconds."""

    def lines(self) -> list[str]:
        """The figures, one line each, then what was wrong."""
        said = [f"{self.streams} streams for {self.seconds:.0f} s; on average {self.flying:.0f} requests at once"]
        said.append(f"requests: {sum(self.outcomes.values())}, the longest {self.lasted:.1f} s")
        said += [f"  {count:6} {name}" for name, count in sorted(self.outcomes.items(), key=lambda each: -each[1])]
        if self.added:
            p50, p99 = (1000 * _quantile(self.added, part) for part in (0.5, 0.99))
            said.append(f"first piece, from the upstream's to the client's: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
        said += [f"trouble: {each}" for each in self.trouble]
        said += [self._sample(each) for each in self.samples[:: max(1, len(self.samples) // 8)]]
        said.append(
            f"memory grew, from a quarter to the end: {', '.join(f'{each / 1e6:+.1f} MB' for each in self.grown.values())}"
        )
        said += [f"{when}: {each}" for when, all_ in (("before", self.quiet), ("after", self.after)) for each in all_]
        said.append("upstream connections: at most {}, left {}, of them busy {}".format(*self.upstream))
        said.append(f"SIGTERM under load: exit status {self.status} after {self.drain:.1f} s")
        load = os.getloadavg()[0]
        said.append(f"the test's own loop lagged by {1000 * self.lag:.0f} ms at most; the machine's load is {load:.1f}")
        return said + [f"WRONG: {each}" for each in self.complaints]

    def _sample(self, sample: Sample) -> str:
        workers = ", ".join(f"{rss / 1e6:.1f} MB and {sample.files[pid]} files" for pid, rss in sample.rss.items())
        return f"  {sample.at - self.began:6.0f} s: {sample.flying} requests, workers with {workers}"


def _quantile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
