"""One plugin's own part, running beside the requests: in a task of its own, so that it may end before or after others.

A context may hold a task group or a cancel scope: what one task has entered, no other may leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import anyio
import pluggy
import structlog

from core.culprit import notes_of
from core.raised import ANYTHING, in_words, leaves, raise_fault

BEGIN: Final = 60.0
"""Seconds that a plugin's part has to begin."""
END: Final = 10.0
"""Seconds that it has to end."""
LAST: Final = 1.0
"""Seconds that it has to go once it is cancelled."""


class Life:
    """What the lifespan hooks of one plugin gave. `start` and `end` are called once each."""

    def __init__(self, implementations: Sequence[pluggy.HookImpl]) -> None:
        self._implementations = implementations
        self._begun = asyncio.Event()
        self._ending = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin. Raises what the plugin raises, with a note that names it, and TimeoutError."""
        self._task = task = asyncio.create_task(self._run())
        begun = asyncio.create_task(self._begun.wait())
        try:
            await asyncio.wait({task, begun}, timeout=BEGIN, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
            if not (self._begun.is_set() or task.done()):
                await self._cancel(task)
        if task.done() and not self._begun.is_set():
            with suppress(asyncio.CancelledError):
                task.result()
        if not self._begun.is_set():
            error = TimeoutError(f"it did not begin within {BEGIN:g} seconds")
            error.add_note(f"in lifespan of {self._owner}")
            raise error

    async def end(self) -> None:
        """End; what goes wrong is told in the log."""
        task = self._task
        if task is None or task.done():
            return
        self._ending.set()
        try:
            await asyncio.wait({task}, timeout=END)
        finally:
            if not task.done():
                structlog.get_logger().error("a plugin's own part did not end", of=self._owner, seconds=END)
                await self._cancel(task)

    @property
    def _owner(self) -> str:
        return f"plugin {self._implementations[0].plugin_name!r}"

    async def _run(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                for implementation in self._implementations:
                    await _enter(stack, implementation)
                self._begun.set()
                await self._ending.wait()
        except ANYTHING as error:
            if leaves(error):
                raise
            if not self._begun.is_set():
                raise_fault(error)
            notes = [*notes_of(error), f"in lifespan of {self._owner}"]
            structlog.get_logger().error("a plugin's own part failed", why=in_words(error), notes=notes, exc_info=error)

    async def _cancel(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task}, timeout=LAST)
        if task.done() and not task.cancelled():
            task.exception()  # or asyncio would tell of one that nobody looked at


async def _enter(stack: AsyncExitStack, implementation: pluggy.HookImpl) -> None:
    """Begin one plugin's lifespan; a start that fails names the plugin."""
    try:
        context: Any = implementation.function()
        if context is not None:
            await stack.enter_async_context(context)
    except ANYTHING as error:
        if leaves(error):
            raise
        error.add_note(f"in lifespan of plugin {implementation.plugin_name!r}")
        raise_fault(error)
