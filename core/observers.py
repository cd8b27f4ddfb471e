"""What plugins are told of requests that are over, by the hook `observe`: several at once, and in no request's way."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from core.culprit import notes_of
from core.pipeline import Pipeline
from core.record import Record
from core.traffic import Traffic

SOON: Final = 0.05
"""Seconds after which a request that is over is told: those that end meanwhile are told with it."""
BEAT: Final = 1.0
"""Seconds between two tellings while requests run and none ends."""
MANY: Final = 256
"""Requests that are told at once at most…"""
LARGE: Final = 1024 * 1024
"""… and bytes of their bodies, which are kept until then."""


class Observers:
    """Those of one pipeline. `begun` and `over` are called in the event loop; without observers both do nothing."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._traffic = Traffic(pipeline.name, {name: back.state for name, back in pipeline.backs.items()})
        self._pipeline = pipeline
        self._are_there = pipeline.answers("observe")
        self._records: list[Record] = []
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._log = structlog.get_logger()

    def begun(self) -> None:
        """A request came."""
        if self._are_there:
            self._traffic.running += 1
            if self._timer is None:
                self._plan(BEAT)

    def over(self, record: Record) -> None:
        """A request is over: its record is complete."""
        if not self._are_there:
            return
        self._traffic.running -= 1
        self._records.append(record)
        self._bytes += len(record.http.body)
        if len(self._records) >= MANY or self._bytes >= LARGE:
            self._plan(0.0)
        elif len(self._records) == 1:
            self._plan(SOON)

    def tell(self) -> None:
        """Tell now what was not told yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._are_there:
            return
        records, self._records, self._bytes = self._records, [], 0
        if self._traffic.running:
            self._plan(BEAT)
        for fault in self._pipeline.observe(records, self._traffic):
            self._log.error("fault", pipeline=self._pipeline.name, notes=notes_of(fault), exc_info=fault)

    def _plan(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.tell)
