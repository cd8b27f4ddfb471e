"""What hookline wants to reach, beside what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
from rich.table import Table

from tests.bench.loads import AGENT, ONE, PACED, SMALL, TEXT, TOOLS
from tests.bench.rounds import OPEN, START, Results
from tests.bench.subjects import DIRECT, FLOOR, OPERATED, PEER, PLAIN, WRAPPED


@attrs.frozen
class Goal:
    """A figure made of the results, and its limit: at most, or at least."""

    title: str
    figure: Callable[[Results], float]
    limit: float
    least: bool = False

    def met(self, found: float) -> bool:
        """Whether it is reached."""
        return found >= self.limit if self.least else found <= self.limit


def _ratio(load: str, name: str = "cpu_ms", over: str = FLOOR, of: str = PLAIN) -> Callable[[Results], float]:
    return lambda results: results[of][load][name] / results[over][load][name]


def _latency(results: Results) -> float:
    """What hookline adds to the floor's latency, in parts of what the floor adds to the upstream's own."""
    direct, floor, ours = (results[name][ONE.name]["p50_ms"] for name in (DIRECT, FLOOR, PLAIN))
    return (ours - floor) / (floor - direct)


GOALS: Final = (
    Goal("CPU of a small request, over the floor", _ratio(SMALL.name), 1.25),
    Goal("CPU of a text stream, over the floor", _ratio(TEXT.name), 1.8),
    Goal("CPU of a text stream whose chunks come one by one, over the floor", _ratio(PACED.name), 1.8),
    Goal("CPU of a tool stream, over the floor", _ratio(TOOLS.name), 1.8),
    Goal("CPU of an agent request, over the floor", _ratio(AGENT.name), 3.0),
    Goal("p50 at one connection beyond the floor's, in parts of what the floor adds", _latency, 0.4),
    Goal("think_tags + stop_scan on a text stream, over vllm alone", _ratio(TEXT.name, over=PLAIN, of=WRAPPED), 1.25),
    Goal("operator plugins on a small request, over vllm alone", _ratio(SMALL.name, over=PLAIN, of=OPERATED), 1.1),
    Goal("operator plugins on a text stream, over vllm alone", _ratio(TEXT.name, over=PLAIN, of=OPERATED), 1.1),
    Goal("memory of an open stream, over the floor", _ratio(OPEN, "stream_kb"), 1.5),
    Goal("growth with chunks (1 = linear)", lambda results: results[PLAIN]["chunks"]["bend"], 1.15),
    Goal("growth with body size (1 = linear)", lambda results: results[PLAIN]["sizes"]["bend"], 1.15),
    Goal("start to first answer, s", lambda results: results[PLAIN][START]["seconds"], 1.0),
    Goal("the peer's CPU of a small request, over hookline's", _ratio(SMALL.name, over=PLAIN, of=PEER), 25, least=True),
    Goal("the peer's CPU of a text stream, over hookline's", _ratio(TEXT.name, over=PLAIN, of=PEER), 70, least=True),
)


def cells(results: Results) -> list[list[str]]:
    """Title, figure, limit and whether it is met, for all goals that were measured."""
    lines = []
    for goal in GOALS:
        try:
            found = goal.figure(results)
        except KeyError:
            continue
        sign = "≥" if goal.least else "≤"
        lines.append([goal.title, f"{found:.2f}", f"{sign} {goal.limit:g}", "yes" if goal.met(found) else "no"])
    return lines


HEAD: Final = ["target", "measured", "wanted", "met"]


def table(results: Results) -> Table:
    """For the terminal."""
    made = Table(title="targets")
    for name in HEAD:
        made.add_column(name)
    for line in cells(results):
        made.add_row(*line)
    return made
