"""The gateway that serves, and those before it whose last requests still run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from core.errors import GatewayError
from core.gateway import Gateway
from core.lives import Lives
from core.loader.reuse import hand_over


class Generation:
    """A gateway with its requests, each a `with` block: `over` is called after the last, once it is retired."""

    def __init__(self, gateway: Gateway, over: Callable[[Generation], None]) -> None:
        self.gateway = gateway
        self._over = over
        self._requests = 0
        self._retired = False

    def __enter__(self) -> Gateway:
        self._requests += 1
        return self.gateway

    def __exit__(self, *_: object) -> None:
        self._requests -= 1
        self._look()

    def retire(self) -> None:
        """It gets no more requests."""
        self._retired = True
        self._look()

    def _look(self) -> None:
        if self._retired and not self._requests:
            self._over(self)


class Generations:
    """The gateway of now as `current`; one before it is there until its last request is over, with what it needs."""

    def __init__(self, gateway: Gateway) -> None:
        self._lives = Lives()
        self.current = Generation(gateway, self._over)
        self.living = [self.current]
        """All whose requests may run, the oldest first."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What must run while requests are served. Raises what the start of a plugin's part raises."""
        await self._lives.start(self.current.gateway.loaded)
        try:
            yield
        finally:
            for generation in self.living:
                generation.gateway.tell()
            await self._lives.end()

    async def replace(self, gateway: Gateway) -> None:
        """Start what is new with this one, then let it serve. When a plugin's part fails to start, nothing changes."""
        await self._lives.start(gateway.loaded)
        hand_over([generation.gateway.loaded.made for generation in self.living], gateway.loaded.made)
        before, self.current = self.current, Generation(gateway, self._over)
        self.living.append(self.current)
        before.retire()

    def interrupt(self, error: GatewayError) -> None:
        """End every request that waits for an upstream with this error, whichever gateway it began with."""
        for generation in self.living[:]:
            generation.gateway.interrupt(error)

    def _over(self, generation: Generation) -> None:
        self.living.remove(generation)
        generation.gateway.tell()
        self._lives.release(generation.gateway.loaded)
