"""What was fetched lately: clients send the whole conversation again at each turn."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import attrs

from plugins.fetch_urls.errors import FetchError
from plugins.fetch_urls.kinds import Fetched, Wanted

FAILED: Final = 30.0
"""Seconds that a failure is kept: a dead link in the history must not hold up every turn."""

ENTRY: Final = 500
"""Bytes of what stands around a file or a failure."""

Outcome = Fetched | FetchError


@attrs.frozen
class _Entry:
    outcome: Outcome
    until: float
    weight: int


class Kept:
    """Outcomes, each for so many seconds, the last used up to so many bytes of base64; `size` 0 keeps none."""

    def __init__(self, size: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._room = size
        self._seconds = seconds
        self._clock = clock
        self._entries: OrderedDict[Wanted, _Entry] = OrderedDict()

    def get(self, wanted: Wanted) -> Outcome | None:
        """What came of it, if that is still kept."""
        entry = self._entries.get(wanted)
        if entry is None:
            return None
        if entry.until <= self._clock():
            self._drop(wanted)
            return None
        self._entries.move_to_end(wanted)
        return entry.outcome

    def put(self, wanted: Wanted, outcome: Outcome) -> None:
        """Keep it; what was used longest ago makes room. A failure takes no file's place, which has its own time."""
        failed = isinstance(outcome, FetchError)
        if failed and isinstance(self.get(wanted), Fetched):
            return
        self._drop(wanted)
        weight = ENTRY + len(wanted.url) + (0 if isinstance(outcome, FetchError) else len(outcome.data))
        if weight > self._size:
            return
        seconds = min(FAILED, self._seconds) if failed else self._seconds
        self._entries[wanted] = _Entry(outcome, self._clock() + seconds, weight)
        self._room -= weight
        while self._room < 0:
            self._drop(next(iter(self._entries)))

    def _drop(self, wanted: Wanted) -> None:
        entry = self._entries.pop(wanted, None)
        if entry is not None:
            self._room += entry.weight
