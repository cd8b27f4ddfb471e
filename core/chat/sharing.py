"""Many like questions at once: a few go out at a time, and equal ones share an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable

import anyio
import attrs


@attrs.define(eq=False)
class _Flight:
    """A question that is on its way."""

    landed: anyio.Event = attrs.field(factory=anyio.Event)
    answered: bool = False
    answer: int | None = None


class SharedCounts:
    """Asks for counts, at most `at_once` at a time; whoever asks what is being asked waits for that answer.

    A question that has none after `seconds`, the wait for its turn included, is answered None: a count is wanted soon
    or not at all.
    """

    def __init__(self, at_once: int = 4, seconds: float = 10.0) -> None:
        self._turns = anyio.Semaphore(at_once)
        self._seconds = seconds
        self._flights: dict[Hashable, _Flight] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[int | None]]) -> int | None:
        """The answer to the question that `key` names. What `ask` raises is raised to the one who asked it."""
        while (flight := self._flights.get(key)) is not None:
            await flight.landed.wait()
            if flight.answered:
                return flight.answer
        flight = self._flights[key] = _Flight()
        try:
            with anyio.move_on_after(self._seconds):
                async with self._turns:
                    flight.answer = await ask()
            flight.answered = True
            return flight.answer
        finally:
            # Also when the asker left: then one of those who wait asks again.
            del self._flights[key]
            flight.landed.set()
