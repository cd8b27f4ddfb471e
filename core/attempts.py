"""The attempts at one request: at its one candidate, or at several until one has answered."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping
from typing import Final, TypeVar

import attrs

from core.attempt import Attempt
from core.balance.budget import RetryBudget
from core.balance.queue import Place
from core.config import BackendConfig
from core.cut import Cut
from core.errors import GatewayError, RequestError, UpstreamError
from core.failover import Failover
from core.outlet import Outlet
from core.pipeline import Back
from core.record import Record
from core.request import HTTPRequest, Request
from core.route import Route
from core.vigil import Vigil

T = TypeVar("T")

_PATIENT: Final = BackendConfig("", (), first_timeout=math.inf, read_timeout=math.inf, total_timeout=math.inf)
"""For a wait that has a limit of its own, or needs none."""


@attrs.define(eq=False)
class Attempts:
    """The attempts at one request, made by `run`, once. `interval` is that of signs of life, in seconds.

    `interrupted` is why all of it is to end; None while it is not.
    """

    backs: Mapping[str, Back]
    http: HTTPRequest
    request: Request
    out: Outlet
    interval: float
    budget: RetryBudget
    interrupted: GatewayError | None = attrs.field(init=False, default=None)
    _now: Attempt | Vigil | None = attrs.field(init=False, default=None)

    async def run(self, route: Route) -> None:
        """Answer the client by one of the route's candidates. Raises what the client is to be told otherwise."""
        if len(route.candidates) == 1:
            await self._lone(route)
        else:
            await Failover(self, route.candidates).run()

    def interrupt(self, error: GatewayError) -> None:
        """End all of it with this error, whatever it is at."""
        self.interrupted = self.interrupted or error
        if self._now is not None:
            self._now.fail(error)

    async def _lone(self, route: Route) -> None:
        """The one candidate is asked whatever its health is: nothing else could be done for the client."""
        out = self.out
        out.record.route = route
        back = self.backs.get(route.backend)
        if back is None:
            raise self.nowhere()
        out.backend = back.name
        place = (await self.hold(back))[1] if back.state.places.limit else None
        attempt = self.begin(back, route)
        try:
            await attempt.run()
        except UpstreamError:
            if attempt.held:
                await out.feed(attempt.held)
            raise
        finally:
            self._now = None
            if place is not None:
                place.give_back()

    def begin(self, back: Back, route: Route) -> Attempt:
        """An attempt at one backend; after it follows `over`."""
        # A count says nothing about health: it is an estimate where the engine fails.
        trial = back.state.health.begin() if self.request.task == "message" else None
        self._now = made = Attempt(back, self.request, route, self.out, interval=self.interval, trial=trial)
        return made

    def over(self) -> None:
        """The attempt is over."""
        self._now = None

    async def hold(self, back: Back, *others: Back) -> tuple[Back, Place | None]:
        """A place at the backend, to be given back; None where none is needed. Waits; raises GatewayError (529).

        What has to wait takes a place at one of the others that becomes free before, and that nobody there waits for.
        """
        places = back.state.places
        if not places.limit or self.request.task != "message":
            return back, None
        owner = owner_of(self.http, self.out.record)
        place = places.place(owner)
        if place.take():
            return back, place
        elsewhere = {other.state.places.place(owner): other for other in others}
        held = await self.wait(place.wait(tuple(elsewhere)))
        return elsewhere.get(held, back), held

    async def wait(self, work: Awaitable[T]) -> T:
        """Wait for it, unless all of it is to end. A client that has been shown life goes on seeing it."""
        with Cut() as cut:
            self._now = vigil = Vigil(_PATIENT, self.interval, give_up=cut.now, ping=self.out.ping)
            if self.out.shown:
                vigil.accepted()
            if self.interrupted is not None:
                vigil.fail(self.interrupted)
            try:
                return await work
            finally:
                vigil.end()
                self._now = None
        raise vigil.error or RuntimeError("it was cut short, and nobody says why")

    def nowhere(self) -> RequestError:
        """No candidate's backend is there."""
        return RequestError(f"model: {self.request.model} goes to a backend that is not here", kind="not_found")


def owner_of(http: HTTPRequest, record: Record) -> str:
    """Whose a request is where places are shared out fairly: the key's, else its credential's, else the address's."""
    return record.key or http.owner
