"""Plugins that write down when their own part runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import attrs

from core import hookimpl


@attrs.frozen(eq=False)
class Lives:
    """Writes `+NAME` and `-NAME`; `fault` is raised at the start, `last_fault` at the end."""

    name: str
    log: list[str]
    fault: BaseException | None = None
    last_fault: BaseException | None = None

    @hookimpl
    def lifespan(self) -> Any:
        return self.life()

    @asynccontextmanager
    async def life(self) -> AsyncIterator[None]:
        if self.fault is not None:
            raise self.fault
        async with anyio.create_task_group() as group:  # which only the task that made it may leave
            group.start_soon(anyio.sleep_forever)
            self.log.append(f"+{self.name}")
            try:
                yield
            finally:
                self.log.append(f"-{self.name}")
                group.cancel_scope.cancel()
        if self.last_fault is not None:
            raise self.last_fault


class Other(Lives):
    """Another class, for plugins are named by theirs."""


@attrs.frozen(eq=False)
class Stuck:
    """Hangs at its start, or at its end."""

    log: list[str]
    at_end: bool = False

    @hookimpl
    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        try:
            if not self.at_end:
                self.log.append("hangs")
                await anyio.sleep_forever()
            yield
            await anyio.sleep_forever()
        finally:
            self.log.append("cancelled")


@attrs.frozen(eq=False)
class Crashes:
    """Its own task fails once `now` is set."""

    now: anyio.Event
    ended: anyio.Event

    @hookimpl
    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.crash)
                yield
        finally:
            self.ended.set()

    async def crash(self) -> None:
        await self.now.wait()
        raise ValueError("out of luck")
