"""The page that Prometheus reads: what all workers of the run counted, and what the system knows of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import version
from platform import python_version

import attrs
from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plugins.metrics.run import Run
from plugins.metrics.sums import Sums

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The format that every Prometheus reads."""


def page_of(run: Run, sums: Sums) -> bytes:
    """The page. Raises OSError when the run's directory is gone."""
    with run.reading() as processes:
        if not run.directory.is_dir():
            raise FileNotFoundError(f"{run.directory} is gone: something else has removed it")
        counted = sums.text(run.directory)
    registry = CollectorRegistry()
    registry.register(_System(processes))
    return counted.encode() + generate_latest(registry)


@attrs.frozen(eq=False)
class _System(Collector):
    """What is read from outside of the workers: their number, and what they use."""

    processes: list[int]

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("hookline_build_info", "What is running.", labels=("version", "python"))
        build.add_metric((version("hookline"), python_version()), 1)
        yield build
        yield GaugeMetricFamily("hookline_workers", "Processes that serve.", value=len(self.processes))
        yield from _uses(self.processes)


def _uses(processes: Iterable[int]) -> Iterable[Metric]:
    """Each process's time, memory, files and start, where there is a /proc.

    By `pid`, for a sum of processor times would fall when a worker ends, and so be taken for a restart of all.
    """
    found: dict[str, Metric] = {}
    for process in processes:
        for metric in ProcessCollector(pid=partial(int, process), registry=None).collect():
            whole = found.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
            for sample in metric.samples:
                whole.add_sample(sample.name, {"pid": str(process)}, sample.value)
    return found.values()
