"""The way through several candidates: who is asked first, who next, and what the client is told when all failed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from core.balance.affinity import session_key
from core.balance.health import Health
from core.balance.order import ordered
from core.balance.queue import Place
from core.balance.state import BackendState
from core.errors import GatewayError, UpstreamError
from core.pipeline import Back
from core.raised import drop_frames
from core.record import Missed
from core.route import Candidate, Route
from core.verdict import is_unreachable, may_fail_over, verdict

if TYPE_CHECKING:
    from core.attempts import Attempts

PAUSE: Final = 0.05
"""Seconds of the longest pause before the second attempt; before the third it is twice as long, and so on."""


class Failover:
    """One request's way through its candidates. They are asked one after another, each once.

    One that is cooling down is passed over, and so is one without a free place while another has one. The next is asked
    only when the one before failed without a piece of an answer. Where all that are left cool down, they are asked all
    the same, the one that is due soonest first, but none that asked for the time itself: to ask nobody would make a
    group of backends that fail now and then worse than one of them.
    """

    def __init__(self, attempts: Attempts, candidates: Sequence[Candidate]) -> None:
        self._attempts = attempts
        key = session_key(attempts.http, attempts.request)
        self._order = [each for each in ordered(candidates, key) if each.backend in attempts.backs]
        self._left = self._order[:]
        self._errors: dict[Candidate, GatewayError] = {}
        self._missed: dict[Candidate, Missed] = {}
        self._counts = attempts.request.task != "message"
        self._tried = 0
        self._waited = False
        self._insists = False
        """Whether all that are left cool down, and one is asked all the same."""

    async def run(self) -> None:
        """Answer the client by one of them. Raises what the client is to be told otherwise."""
        attempts = self._attempts
        if not self._order:
            raise attempts.nowhere()
        attempts.budget.deposit()
        record = attempts.out.record
        record.route = Route((self._order[0],))
        limit = attempts.backs[self._order[0].backend].client.backend.total_timeout
        end = asyncio.get_running_loop().time() + limit
        try:
            while chosen := await self._choose():
                if await self._served(*chosen):
                    return
                if not await self._may_go_on(end):
                    break
            error = self._verdict()
            raise error from error.__cause__
        finally:
            record.attempts = list(self._missed.values())
            if self._tried:
                attempts.out.backend = record.route.backend

    async def _choose(self) -> tuple[Candidate, Back, Place | None] | None:
        """The next to ask, with a place there; None: nobody is left, or all that are left shall be left alone."""
        attempts = self._attempts
        while True:
            welcome = self._welcome()
            free = next((each for each in welcome if self._is_free(each)), None)
            if not welcome or (free is None and self._waited):
                return None
            candidate = free or next((each for each in welcome if _has_room(self._state(each))), welcome[0])
            for each in welcome[: welcome.index(candidate)]:
                self._missed[each] = _full(each)
            # By backend: two models of one have the same places. Those that cool down may be back before.
            others = {each.backend: each for each in reversed(self._left)} if free is None else {}
            others.pop(candidate.backend, None)
            backs = [attempts.backs[name] for name in (candidate.backend, *others)]
            try:
                back, place = await attempts.hold(*backs)
            except GatewayError as error:
                if attempts.interrupted is not None:
                    raise
                self._waited = True  # long enough: from now on only what is free
                self._note(candidate, error, "full")
                continue
            if back.name in others:
                self._missed[candidate] = _full(candidate)
                candidate = others[back.name]
            # It may have failed others while this one waited for its turn.
            health = back.state.health
            if place is None or health.may_try() or (self._insists and self._may_insist(health)):
                return candidate, back, place
            place.give_back()

    def _welcome(self) -> list[Candidate]:
        """Those left that should be asked, in order; the others cool down."""
        found = []
        for each in self._left:
            if self._state(each).health.may_try():
                found.append(each)
            else:
                self._missed[each] = Missed(each.backend, "cooling", "cooling down")
        self._insists = not found
        if found or self._counts:
            # A count is an estimate where the engine fails, never an error; nor does it take a place.
            return found or self._left[:]
        asked = [each for each in self._left if self._may_insist(self._state(each).health)]
        return [min(asked, key=lambda each: self._state(each).health.remaining())] if asked else []

    def _may_insist(self, health: Health) -> bool:
        """Whether one that cools down may be asked all the same."""
        if health.told:
            return False
        # After an attempt an error now is better than another silence, and the error after it.
        return not self._tried or health.last_error is None or health.last_error.kind != "timeout"

    def _is_free(self, candidate: Candidate) -> bool:
        return self._counts or self._state(candidate).places.free

    async def _served(self, candidate: Candidate, back: Back, place: Place | None) -> bool:
        """Ask this one; False when it failed in a way that lets another one try."""
        attempts, out = self._attempts, self._attempts.out
        self._left.remove(candidate)
        self._missed.pop(candidate, None)
        self._tried += 1
        out.record.route = route = Route((candidate,))
        out.record.accepted = 0.0
        attempt = attempts.begin(back, route)
        try:
            await attempt.run()
        except UpstreamError as error:
            if attempts.interrupted is not None:
                raise attempts.interrupted from error
            if attempt.begun or not may_fail_over(error):
                raise
            out.translators = None  # what they still hold is no part of any other answer
            self._note(candidate, error, "unreachable" if is_unreachable(error) else error.kind)
            return False
        finally:
            attempts.over()
            if place is not None:
                place.give_back()
        return True

    def _note(self, candidate: Candidate, error: GatewayError, reason: str) -> None:
        drop_frames(error)
        self._errors[candidate] = error
        if candidate in self._left:
            self._left.remove(candidate)
        cause = f" ({type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ is not None else ""
        self._missed[candidate] = Missed(candidate.backend, reason, f"{error.status} {error.message}{cause}")

    async def _may_go_on(self, end: float) -> bool:
        """Whether there may be one more attempt; after a pause, so that those who failed together part."""
        attempts = self._attempts
        if not self._welcome():
            return False
        if asyncio.get_running_loop().time() >= end or not attempts.budget.take():
            return False
        await attempts.wait(asyncio.sleep(random.random() * PAUSE * self._tried))
        return True

    def _verdict(self) -> GatewayError:
        resting = [self._state(each).health for each in self._left]
        last = [health.last_error for health in resting if not health.may_try()]
        return verdict([*self._errors.values(), *filter(None, last)], [self._wait(each) for each in self._order])

    def _wait(self, candidate: Candidate) -> float:
        """Seconds until it will be asked again; 0 where nobody knows. Others may have been told more than this one."""
        error = self._errors.get(candidate)
        return self._state(candidate).health.remaining() or (error and error.retry_after) or 0.0

    def _state(self, candidate: Candidate) -> BackendState:
        return self._attempts.backs[candidate.backend].state


def _has_room(state: BackendState) -> bool:
    return state.places.waiting < state.places.queue


def _full(candidate: Candidate) -> Missed:
    return Missed(candidate.backend, "full", "all its places are taken")
