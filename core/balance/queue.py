"""The places of one backend: how many requests it serves at once, and the bounded, fair queue of those that wait."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

import anyio

from core.balance.line import Line
from core.errors import GatewayError

SOON: Final = 1.0
LATE: Final = 60.0
"""Seconds after which a client is told to come again: at least and at most."""
_OLD: Final = 0.8
"""How much of the mean time that a place is held each new one leaves."""


class Places:
    """`limit` places (0: no limit), a queue of `queue` waiters, who wait `seconds` at most.

    Owners take turns, each first come first served. When the queue is full, a newcomer whose owner has less than
    others in it pushes out the last waiter of the owner with the most, so that none can fill it against all others.

    Those who wait elsewhere may stand by: a place that nobody waits for is theirs, while `welcome` says so.
    """

    def __init__(
        self,
        limit: int = 0,
        queue: int = 100,
        seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        welcome: Callable[[], bool] = lambda: True,
    ) -> None:
        self.limit = limit
        self.queue = queue
        self.seconds = seconds
        self.held = 0
        """Places that are taken."""
        self._clock = clock
        self._welcome = welcome
        self._line: Line[Place] = Line()
        self._standing_by: Line[Place] = Line()
        self._mean = 0.0

    def follow(self, other: Places) -> None:
        """From now on the limits are those of `other`, and its `welcome`; whoever is here stays.

        Where there are fewer places than are held, none is given until enough of them came back.
        """
        self.limit, self.queue, self.seconds = other.limit, other.queue, other.seconds
        self._welcome = other._welcome
        self._hand_out()

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return len(self._line)

    @property
    def free(self) -> bool:
        """Whether a place would be had at once."""
        return not self.limit or self.held < self.limit

    def place(self, owner: str = "") -> Place:
        """A place, held by `async with`. Entering waits, and raises GatewayError (529, with `retry_after`) when the
        queue is full or the time is over."""
        return Place(self, owner)

    def retry_after(self) -> float:
        """Whole seconds after which one more may find a place, by the time that places were held of late."""
        turns = self._mean * (self.waiting + 1) / self.limit if self.limit else 0.0
        return float(math.ceil(min(max(turns, SOON), LATE)))

    def _take(self, place: Place) -> bool:
        if not self.free:
            return False
        self.held += 1
        place.begin(self._clock())
        return True

    async def _wait(self, place: Place, others: Sequence[Place]) -> Place:
        """Stand in the line until a place is given; whoever is cancelled leaves line and place to the others."""
        if self.waiting >= self.queue and not self._make_room(place.owner):
            raise self._full()
        place.called = called = anyio.Event()
        self._line.join(place.owner, place)
        for other in others:
            other.stand_by(called)
        got: Place | None = None
        try:
            with anyio.move_on_after(self.seconds):
                await called.wait()
            got = next((each for each in (place, *others) if each.holds), None)
        finally:
            for each in (place, *others):
                if each is not got:
                    each.forgo()
        if got is not None:
            return got
        if called.is_set():  # pushed out
            raise self._full()
        raise self._busy(f"no place became free within {self.seconds:g} seconds")

    def _stand_by(self, place: Place) -> None:
        self._standing_by.join(place.owner, place)

    def _forgo(self, place: Place) -> None:
        if place.holds:  # it was given in this very moment
            self._give_back(place)
        elif not self._line.leave(place.owner, place):
            self._standing_by.leave(place.owner, place)

    def _make_room(self, owner: str) -> bool:
        pushed = self._line.surplus(owner)
        if pushed is not None:
            pushed.called.set()
        return pushed is not None

    def _give_back(self, place: Place) -> None:
        now = self._clock()
        held = max(0.0, now - place.end())
        self._mean = held if not self._mean else _OLD * self._mean + (1 - _OLD) * held
        self.held -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        """Give what is free to those who wait."""
        while self.free:
            successor = self._line.next()
            if successor is None and self._welcome():
                successor = self._standing_by.next()
            if successor is None:
                return
            self.held += 1
            successor.begin(self._clock())
            successor.called.set()

    def _full(self) -> GatewayError:
        return self._busy(f"{self.queue} more wait" if self.queue else "nobody may wait")

    def _busy(self, why: str) -> GatewayError:
        wait = self.retry_after()
        said = f"the model's server is busy: it serves {self.limit} at once, and {why}; come again in {wait:.0f} s"
        return GatewayError(said, kind="overloaded", retry_after=wait, should_retry=True)


class Place:
    """One place, or the wait for it; to be entered once."""

    __slots__ = ("_began", "_places", "called", "owner")

    def __init__(self, places: Places, owner: str) -> None:
        self.owner = owner
        self.called: anyio.Event
        """Set when the waiter has a place, or has been pushed out."""
        self._places = places
        self._began: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the place is held now."""
        return self._began is not None

    def begin(self, now: float) -> None:
        """It is held from now on."""
        self._began = now

    def end(self) -> float:
        """It is held no more; since when it was."""
        began, self._began = self._began, None
        if began is None:
            raise RuntimeError("a place is given back once")
        return began

    def take(self) -> bool:
        """Take the place without waiting; False when none is free. `give_back` follows."""
        return self._places._take(self)  # noqa: SLF001  the two are one

    def give_back(self) -> None:
        """The place is free for the next one."""
        self._places._give_back(self)  # noqa: SLF001

    def stand_by(self, called: anyio.Event) -> None:
        """Be given a place that nobody waits for, which `called` then tells. `forgo` or `give_back` follows."""
        self.called = called
        self._places._stand_by(self)  # noqa: SLF001

    def forgo(self) -> None:
        """Wait no more, and leave the place, if it was just given, to the next one."""
        self._places._forgo(self)  # noqa: SLF001

    async def wait(self, others: Sequence[Place] = ()) -> Place:
        """Wait for the place, or for the first of the others, at which this one stands by; the place that is held then.

        Raises GatewayError (529, with `retry_after`) when the queue is full or the time is over.
        """
        return await self._places._wait(self, others)  # noqa: SLF001

    async def __aenter__(self) -> Self:
        if not self.take():
            await self.wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
