"""All files of one request: at the same time, within its limits, each once; what failed is told in the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final

import anyio
import attrs
import structlog

from plugins.fetch_urls.errors import BusyError, FetchError, LimitError, cause_of
from plugins.fetch_urls.fetch import Allowance, Fetcher
from plugins.fetch_urls.guard import host_of
from plugins.fetch_urls.kept import Kept, Outcome
from plugins.fetch_urls.kinds import Wanted
from plugins.fetch_urls.turns import Turns

OF_ONE: Final = 4
"""Files of one request that are fetched at the same time: others want some, too."""


@attrs.frozen
class Limits:
    """What one request may ask for."""

    urls: int
    total_bytes: int
    seconds: float
    at_once: int
    """Fetches of all requests at the same time, shared out between their owners."""


class Loader:
    """Fetches what requests want; what was fetched lately comes from `kept`."""

    def __init__(self, fetcher: Fetcher, kept: Kept, limits: Limits) -> None:
        self._fetcher = fetcher
        self._kept = kept
        self._limits = limits
        self._turns = Turns(limits.at_once)

    def take_over(self, before: Loader) -> None:
        """Go on with the places and the look-ups of the one before, which both have then; files are fetched anew."""
        self._turns = before._turns
        self._turns.resize(self._limits.at_once)
        self._fetcher = attrs.evolve(self._fetcher, resolve=before._fetcher.resolve)

    async def load(self, wanted: Sequence[Wanted], owner: str = "") -> Mapping[Wanted, Outcome]:
        """What came of each; of more than the limit the first are fetched. The time's end is an outcome, too.

        `owner` is whose request it is.
        """
        limits = self._limits
        allowance = Allowance(limits.total_bytes)
        own = anyio.Semaphore(OF_ONE)
        begun: dict[Wanted, bool] = {}
        found: dict[Wanted, Outcome] = {}

        async def load_one(each: Wanted) -> None:
            at_once = own.value > 0 and self._turns.free(owner)
            async with own, self._turns.turn(owner):
                begun[each] = at_once
                found[each] = await self._one(each, allowance, owner)

        with anyio.move_on_after(limits.seconds):
            # Not anyio's group: with groups inside its tasks it takes back the cancellation by which a request's task
            # ends when the client leaves, which would then look like a fault.
            async with asyncio.TaskGroup() as group:
                for each in wanted[: limits.urls]:
                    if self._kept.get(each) is None:
                        group.create_task(load_one(each))
                    else:
                        found[each] = await self._one(each, allowance, owner)
        for each in wanted[: limits.urls]:
            if each not in found:
                found[each] = self._late(each, had_all=begun.get(each))
        for each in wanted[limits.urls :]:
            found[each] = LimitError(f"this request names more than {limits.urls} files to be fetched")
        return found

    async def _one(self, wanted: Wanted, allowance: Allowance, owner: str) -> Outcome:
        began = time.monotonic()
        try:
            outcome = self._kept.get(wanted)
            if outcome is None:
                outcome = await self._fetcher.fetch(wanted, allowance, owner)
                self._kept.put(wanted, outcome)
            elif not isinstance(outcome, FetchError):
                allowance.take(outcome.size)
        except FetchError as error:
            _tell(wanted, error, time.monotonic() - began)
            if isinstance(error, LimitError):
                return error.with_traceback(None)
            # Without its causes, whose frames hold what had come.
            outcome = FetchError(str(error))
            self._kept.put(wanted, outcome)
        return outcome

    def _late(self, wanted: Wanted, *, had_all: bool | None) -> FetchError:
        """Why one did not come: `had_all` is whether it had all the time, None: its turn did not come.

        Kept is only that of one that had: else a request whose other files are slow would fail a good one for all.
        """
        text = f"it did not come within {self._limits.seconds:g} seconds"
        error: FetchError = LimitError(text)
        if had_all is None:
            error = BusyError(f"{text}, for many others are being fetched; try again")
        elif had_all:
            error = FetchError(text)
            self._kept.put(wanted, error)
        _tell(wanted, error, self._limits.seconds)
        return error


def _tell(wanted: Wanted, error: FetchError, seconds: float) -> None:
    """Tell the operator: the host alone, for the rest of a URL may be a secret."""
    structlog.get_logger().warning(
        "file not fetched", host=host_of(wanted.url), why=str(error), cause=cause_of(error), seconds=round(seconds, 3)
    )
