"""A changed pipelines.toml is taken up while requests run: each begins and ends with the gateway it began with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import structlog

from core.config_file import ConfigFile
from core.culprit import FAULTS, notes_of
from core.errors import ConfigError
from core.gateway import Gateway
from core.generations import Generations
from core.loader.changes import changes
from core.raised import in_words

T = TypeVar("T")

LOOK: Final = 0.5
"""Seconds between two looks at the file."""


class Reloader:
    """Looks at the file, and puts a new gateway in the place of the current one when it has changed.

    What is wrong with it, or fails to start, is told in the log, and the current one goes on. What can take long is
    done in a thread.
    """

    def __init__(self, file: ConfigFile, generations: Generations) -> None:
        self._file = file
        self._generations = generations
        self._asked = asyncio.Event()
        self._closed = False
        self._log = structlog.get_logger()

    def ask(self) -> None:
        """Reload as soon as possible, whether the file changed or not; to be called in the event loop."""
        self._asked.set()

    def close(self) -> None:
        """Change nothing any more."""
        self._closed = True

    async def run(self) -> None:
        """Look again and again, until `close`. What was loaded before is served by now."""
        await self._keep()
        while not self._closed:
            with anyio.move_on_after(LOOK):
                await self._asked.wait()
            await self.look()

    async def look(self) -> None:
        """One look: reload if the file has changed, or if that was asked for."""
        asked = self._asked.is_set()
        self._asked.clear()
        try:
            if asked or await _in_thread(self._file.changed):
                await self._reload()
        except ConfigError as error:
            self._refuse(str(error))
        except FAULTS as error:
            self._refuse(in_words(error), notes=notes_of(error), exc_info=error)

    async def _reload(self) -> None:
        before = self._generations.current.gateway.loaded
        loaded = await _in_thread(partial(self._file.load, before))
        if not self._closed:
            await self._generations.replace(Gateway(loaded))
            await self._keep()
            self._log.info("reloaded", **self._place(), **changes(before, loaded))

    async def _keep(self) -> None:
        try:
            await _in_thread(self._file.keep)
        except OSError as error:  # no memory for it, say
            self._log.error("the configuration is not kept for other workers", **self._place(), why=str(error))

    def _refuse(self, why: str, **more: Any) -> None:
        self._file.refuse()
        self._log.error("reload failed", **self._place(), why=why, **more)

    def _place(self) -> dict[str, Any]:
        return {"file": str(self._file.path), "worker": os.getpid()}


async def _in_thread(call: Callable[[], T]) -> T:
    # Left behind when the server ends: an import, say, may take its time.
    return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
