"""What the metrics tell of the backends beside requests: who did not serve and why, health, places and queues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from core import Record
from plugins.metrics.values import Files, Metric, Value

LOOK: Final = 1.0
"""Seconds between two looks at the backends: a cool-down ends without any request."""

FAILOVERS: Final = Metric(
    "hookline_failovers",
    "Requests that a backend did not serve when it was its turn: the kind of its error, unreachable, cooling, or full.",
    ("backend", "reason"),
)
HELD: Final = Metric("hookline_backend_places_held", "Requests that hold one of a backend's places.", ("backend",))
WAITING: Final = Metric("hookline_backend_waiting", "Requests that wait for a place at a backend.", ("backend",))
UNHEALTHY: Final = Metric(
    "hookline_backend_unhealthy", "Workers that leave a backend alone after failures, or just try it.", ("backend",)
)
_GAUGES: Final[dict[Metric, Callable[[Any], float]]] = {
    HELD: lambda state: state.places.held,
    WAITING: lambda state: state.places.waiting,
    UNHEALTHY: lambda state: state.health.state != "closed",
}


class Backends:
    """One worker's numbers of this kind."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._states: Mapping[str, Any] = {}
        self._failovers: dict[tuple[str, str], Value] = {}
        self._gauges: dict[tuple[Metric, str], Value] = {}

    def see(self, states: Mapping[str, Any]) -> None:
        """The backends of the latest configuration."""
        self._states = states

    def take(self, record: Record) -> None:
        """Count a request that is over."""
        for missed in record.attempts:
            key = (missed.backend, missed.reason)
            count = self._failovers.get(key)
            if count is None:
                count = self._failovers[key] = self._files.value("counter", FAILOVERS, key, suffix="_total")
            count.add(1)

    def look(self) -> None:
        """Set the gauges to what is true now; those of a backend that is gone to 0."""
        for name in {*self._states, *(name for _, name in self._gauges)}:
            state = self._states.get(name)
            for metric, told in _GAUGES.items():
                gauge = self._gauges.get((metric, name))
                if gauge is None:
                    gauge = self._gauges[metric, name] = self._files.value("gauge", metric, (name,))
                gauge.add((0.0 if state is None else float(told(state))) - gauge.now)

    async def looking(self) -> None:
        """Look again and again. In the end the gauges are 0: whoever follows in this process has its own."""
        try:
            while True:
                await asyncio.sleep(LOOK)
                self.look()
        finally:
            self._states = {}
            self.look()
