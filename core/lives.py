"""What runs beside the requests: each part begins with the first configuration that has it and ends with the last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol

import anyio
import attrs
import pluggy
import structlog

from core.chat.client import UpstreamClient
from core.life import END, Life
from core.loader import Loaded
from core.raised import in_words


class _Part(Protocol):
    async def start(self) -> None:
        """Begin."""

    async def end(self) -> None:
        """End; raises nothing."""


class Lives:
    """The plugins' own parts and the clients' connections of all configurations that are still in use."""

    def __init__(self) -> None:
        self._holders: list[Loaded] = []
        self._parts: dict[int, _Part] = {}
        """By the identity of plugin or client, which the part keeps alive; in the order of their start."""
        self._leaving: set[asyncio.Task[None]] = set()

    async def start(self, loaded: Loaded) -> None:
        """Begin what does not run yet. What a plugin raises is raised, and nothing of it is left then."""
        self._holders.append(loaded)
        try:
            for key, part in _parts_of(loaded):
                if key not in self._parts:
                    await part.start()
                    self._parts[key] = part
        except BaseException:
            self.release(loaded)
            raise

    def release(self, loaded: Loaded) -> None:
        """End, in the background, what no other configuration needs, the latest first."""
        if loaded in self._holders:
            self._holders.remove(loaded)
        needed = {key for holder in self._holders for key, _ in _parts_of(holder)}
        gone = [self._parts.pop(key) for key in list(self._parts) if key not in needed]
        if gone:
            task = asyncio.create_task(_end(gone[::-1]))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def end(self) -> None:
        """End everything, and wait for that."""
        for loaded in self._holders[:]:
            self.release(loaded)
        leaving = set(self._leaving)
        if leaving:
            # Also when the server takes the task away: an engine shall not be left behind.
            with anyio.CancelScope(shield=True):
                try:
                    await asyncio.wait(leaving)
                finally:
                    for task in leaving:
                        task.cancel()


@attrs.frozen(eq=False)
class _Connections:
    """The connections of a client: they begin with the first request."""

    client: UpstreamClient

    async def start(self) -> None:
        """Nothing to do."""

    async def end(self) -> None:
        """Close them."""
        try:
            with anyio.fail_after(END):
                await self.client.aclose()
        except Exception as error:  # noqa: BLE001  the others shall be closed, too
            backend = self.client.backend.name
            structlog.get_logger().error("connections were not closed", backend=backend, why=in_words(error))


def _parts_of(loaded: Loaded) -> Iterator[tuple[int, _Part]]:
    """The parts as they are to begin: what begins later ends earlier, the connections last of all."""
    for client in loaded.clients:
        yield id(client), _Connections(client)
    hooks: dict[int, list[pluggy.HookImpl]] = {}
    for manager in loaded.managers:
        for implementation in manager.hook.lifespan.get_hookimpls():
            hooks.setdefault(id(implementation.plugin), []).append(implementation)
    for key, implementations in hooks.items():
        yield key, Life(implementations)


async def _end(parts: list[_Part]) -> None:
    for part in parts:
        await part.end()
