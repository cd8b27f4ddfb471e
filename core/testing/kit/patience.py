"""Patience that a busy machine does not use up: it counts what this thread has done, not what others took from it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import anyio
import attrs

PATIENCE: Final = 2.0
"""Seconds after which something that must happen has not happened: seconds of a machine that does nothing else."""
STEP: Final = 0.05
"""Seconds between two looks."""
IDLE: Final = 0.001
"""Seconds of work of the thread in one step, below which nothing was going on."""

T = TypeVar("T")


@attrs.define(eq=False)
class _Wait:
    scope: anyio.CancelScope
    used: float = 0.0


@attrs.define(eq=False)
class Patience:
    """The waits of one event loop. Each is looked at by one task while `watched` runs.

    A step in which the loop came round and had nothing to do is a step of waiting, however long it took. In any other
    one only the thread's own work counts. Who waits for what never comes has used up his patience after `seconds` of
    such time; who only stands in the queue for a processor has not.
    """

    seconds: float = PATIENCE
    _waits: list[_Wait] = attrs.field(factory=list)

    @contextmanager
    def within(self, what: str) -> Iterator[None]:
        """Raise AssertionError when the block has not ended in time: `what` did not happen, in words."""
        wait = _Wait(anyio.CancelScope())
        self._waits.append(wait)
        try:
            with wait.scope:
                yield
        finally:
            self._waits.remove(wait)
        if wait.scope.cancelled_caught:
            raise AssertionError(f"{what} within {self.seconds:g} seconds")

    async def watched(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, and look after its waits."""
        given: list[T] = []
        raised: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look)
            try:
                given.append(await work())
            except Exception as error:  # noqa: BLE001  it goes on below, without the group around it
                raised = error
            tasks.cancel_scope.cancel()
        if raised is not None:
            raise raised
        return given[0]

    async def _look(self) -> None:
        before = time.thread_time()
        while True:
            await anyio.sleep(min(STEP, self.seconds))
            now = time.thread_time()
            worked, before = now - before, now
            for wait in self._waits:
                wait.used += worked if worked > IDLE else STEP
                if wait.used >= self.seconds:
                    wait.scope.cancel()


def waited(work: Callable[[], Any]) -> float:
    """The seconds of which the thread itself did nothing while it did this."""
    before = time.perf_counter() - time.thread_time()
    work()
    return time.perf_counter() - time.thread_time() - before
