"""Models with several backends of different dialects, in front of three upstreams: what fails is taken over."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs

from tests.faults.fault import CHUNKED, DONE, FINISH, Fault, chunk, completion, framed, reply
from tests.faults.outcomes import name_of
from tests.faults.script import Script, Upstream
from tests.faults.stage import BACKENDS, GENEROUS, LIMITS, SETTINGS, Stage
from tests.faults.table import SCRIPTS, TABLE

SAID: Final = "from the second"
THOUGHT: Final = "Hm"
SECOND: Final[Script] = (
    CHUNKED + framed(chunk(reasoning=THOUGHT) + chunk(content=SAID) + FINISH + DONE) + b"0\r\n\r\n",
)
"""An answer of vLLM's, with thinking in its own field."""
THIRD: Final[Script] = (
    CHUNKED + framed(chunk(content="<think>Hm</th") + chunk(content="ink>from the third") + FINISH + DONE)
    + b"0\r\n\r\n",
)  # fmt: skip
"""One of an engine that writes its thinking into the text."""
GOOD: Final[Script] = (CHUNKED + framed(chunk(content="from the first") + FINISH + DONE) + b"0\r\n\r\n",)
PING: Final = 0.3
READS: Final = frozenset({"up", "quick", "patient"})
"""The kinds of backend that read their requests."""
SLOTS: Final = 16
"""Backends on the same upstream with the same limits."""
ENGINES: Final = {
    "first": SETTINGS,
    "second": 'plugins = ["vllm"]\n',
    "third": 'plugins = ["ollama", "think_tags"]\n',
}
"""The settings of a backend at each upstream."""

# Life is shown here long before a limit of time is reached, so that of those faults one stands for all.
FAILING: Final = [fault for fault in TABLE if fault.name != "silence for longer than life is shown"]


def fails_over(fault: Fault) -> bool:
    """Whether another backend takes over: the backend failed, and nothing was said before."""
    said = fault.text or fault.thinking or fault.arguments
    return not said and (fault.status == 429 or fault.status >= 500)


@attrs.frozen
class Backend:
    """One backend of a model: at which upstream, and further keys of its table."""

    at: str
    more: str = ""
    weight: float = 0.0
    """0: they are tried in their order."""


@attrs.define(eq=False)
class Pair(Stage):
    """`upstream` is the first; a fault's model has the second behind it, and each of MODELS has backends of its own."""

    scripts: dict[str, Script] = attrs.field(factory=lambda: {**SCRIPTS, "heals": reply(200, completion("well"))})
    slots: dict[str, str] = attrs.field(init=False, factory=dict)
    """The backend that a fault's model has first; some share one, in turns."""
    _turns: dict[str, asyncio.Lock] = attrs.field(init=False, factory=lambda: defaultdict(asyncio.Lock))

    def __attrs_post_init__(self) -> None:
        for number, fault in enumerate(FAILING):
            for stream in (True, False):
                model = name_of(fault, stream=stream)
                shared = f"{fault.backend} {(2 * number + stream) % SLOTS}"
                self.slots[model] = shared if fault.backend in READS else f"at the door {number} {stream}"
        self.others = {
            "second": Upstream(dict.fromkeys([*self.slots, *MODELS, "good"], SECOND)),
            "third": Upstream(dict.fromkeys(MODELS, THIRD)),
        }
        self.scripts.update(dict.fromkeys(MODELS, GOOD))

    def at(self, name: str) -> Upstream:
        """One of the three upstreams."""
        return self.upstream if name == "first" else self.others[name]

    @asynccontextmanager
    async def turn(self, model: str) -> AsyncIterator[None]:
        """The backend is the fault's alone, and healthy, without a kept connection, on which a fault may be taken for
        its end; a request that needs no retry pays for the one that does."""
        slot = self.slots[model]
        async with self._turns[slot]:
            for other in ("good", "good", f"heals/{slot}")[: 2 if slot.startswith("at the door") else 3]:
                async with self.client() as client:
                    await client.ask(other, stream=False)
                    answer = await client.answer()
                    assert answer.status == 200, (other, answer)
            yield

    def tables(self, urls: dict[str, str]) -> str:
        """A model for each fault, and for each backend that several of them share one that has it alone."""
        lines = [LIMITS.replace("ping_interval = 2.0", f"ping_interval = {PING}"), "[models]"]
        backends = {name: _backend(name, name, urls[name], GENEROUS) for name in ("second", "third")}
        lines += [_model("good", ["second", "third"]), '"*" = { backend = "second" }']
        for fault in FAILING:
            for stream in (True, False):
                model = name_of(fault, stream=stream)
                slot = self.slots[model]
                lines.append(_model(model, [slot, "second"]))
                if slot not in backends:
                    limits = BACKENDS.get(fault.backend, BACKENDS["quick"])
                    backends[slot] = _backend(slot, "first", urls[fault.backend], limits)
                    lines.append(f'{json.dumps(f"heals/{slot}")} = {{ backend = {json.dumps(slot)}, model = "heals" }}')
        for model, members in MODELS.items():
            names = [name_at(model, number) for number in range(len(members))]
            weights = [member.weight for member in members]
            lines.append(_model(model, names, weights if all(weights) else None))
            for name, member in zip(names, members, strict=True):
                url = urls["up"] if member.at == "first" else urls[member.at]
                backends[name] = _backend(name, member.at, url, f"{GENEROUS}\n{member.more}")
        return "\n".join([*lines, *backends.values()]) + "\n"


def name_at(model: str, number: int) -> str:
    """The backend that is the candidate of that number, from 0."""
    return f"{model} {number}"


def _model(name: str, backends: list[str], weights: list[float] | None = None) -> str:
    """A row of [models]: in this order, or by weight."""
    rows: list[str] = []
    for number, backend in enumerate(backends):
        how = f"priority = {number}" if weights is None else f"weight = {weights[number]}"
        rows.append(f"{{ backend = {json.dumps(backend)}, {how} }}")
    return f"{json.dumps(name)} = [{', '.join(rows)}]"


def _backend(name: str, at: str, url: str, limits: str) -> str:
    settings = ENGINES.get(at, SETTINGS)
    return f'[backends.{json.dumps(name)}]\n{settings}url = "{url}"\n{limits}'


def refused(status: int, *headers: str, **said: Any) -> Script:
    """A refusal."""
    return reply(status, {"error": {"message": "the engine is busy", **said}}, *headers)


SOON: Final = "retry-after: 1"
ONE: Final = "max_concurrent = 1\n"
MODELS: Final[dict[str, tuple[Backend, ...]]] = {
    "cools": (Backend("first"), Backend("second")),
    "probes": (Backend("first"), Backend("second")),
    "all fail, stream": (Backend("first"), Backend("second"), Backend("third")),
    "all fail, whole": (Backend("first"), Backend("second"), Backend("third")),
    "none is there": (Backend("refuses"), Backend("nowhere")),
    "three": (Backend("first"), Backend("second"), Backend("third")),
    "bursts": (Backend("first"), Backend("second")),
    "shows life": (Backend("first"), Backend("second")),
    "is left": (Backend("first"), Backend("second")),
    "is left for good": (Backend("first"), Backend("second")),
    "has sessions": (Backend("first", weight=1.0), Backend("second", weight=1.0), Backend("third", weight=1.0)),
    "has weights": (Backend("first", weight=3.0), Backend("second", weight=1.0)),
    "counts": (Backend("first"), Backend("second")),
    "is narrow": (Backend("first", f"{ONE}max_queue = 1"),),
    "is fair": (Backend("first", ONE),),
    "is slow": (Backend("first", f"{ONE}queue_timeout = 0.3"),),
    "overflows": (Backend("first", ONE), Backend("second", ONE)),
    "crowds": (Backend("first", "max_concurrent = 3"),),
}
"""The models of the tests: each has backends of its own, called `MODEL 0`, `MODEL 1` …"""
