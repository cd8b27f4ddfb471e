"""One attempt: one backend is asked once, and its answer goes to the client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.cut import Cut
from core.deltas import Delta
from core.errors import GatewayError, UpstreamError
from core.hookspecs import UpstreamCall
from core.outlet import Outlet
from core.pipeline import Back
from core.raised import ANYTHING, leaves, raise_fault
from core.request import Request
from core.route import Route
from core.translation import Translation
from core.vigil import Vigil

if TYPE_CHECKING:
    from core.balance.health import Trial


class Attempt:
    """One attempt, made by `run`, once. `interval` are the seconds of silence after which the client is shown life.

    `begun`: there was a piece of the answer, so that no other backend can take over. `held` is what the translators of
    an answer without its end still had when nothing had come out of them: told to nobody yet. `trial` is told how it
    went; None where an answer says nothing about the backend's health.
    """

    def __init__(
        self, back: Back, request: Request, route: Route, out: Outlet, *, interval: float, trial: Trial | None
    ) -> None:
        self.begun = False
        self.held: list[Delta] = []
        self._back = back
        self._request = request
        self._route = route
        self._out = out
        self._interval = interval
        self._trial = trial
        self._vigil: Vigil | None = None

    def fail(self, error: BaseException) -> None:
        """End it with this error, wherever it is."""
        if self._vigil is not None:
            self._vigil.fail(error)

    async def run(self) -> None:
        """The whole of it, to the last byte to the client. The call is closed, and the trial told, when it is over.

        Raises what ended it otherwise: UpstreamError for what the backend did, RequestError, or a plugin's fault.
        """
        trial = self._trial
        try:
            await self._watched()
        except UpstreamError as error:
            if trial is not None:
                trial.failed(error)
            raise
        except BaseException:
            if trial is not None:
                trial.left()
            raise
        if trial is not None:
            trial.won()

    async def _watched(self) -> None:
        out = self._out
        with Cut() as cut:
            self._vigil = vigil = Vigil(self._back.client.backend, self._interval, give_up=cut.now, ping=out.ping)
            if out.shown:  # by an attempt before this one: the client goes on waiting
                vigil.accepted()
            try:
                await self._translated(vigil)
            finally:
                vigil.end()
            return
        if vigil.error is not None:
            raise vigil.error

    async def _translated(self, vigil: Vigil) -> None:
        back, request, route = self._back, self._request, self._route
        content, stop = back.translate_content(request, route), back.translate_stop(request, route)
        translators = self._out.translators = Translation(content, stop, back.blame)
        call = back.call_upstream(request, route)
        try:
            await self._receive(call, translators, vigil)
        except GatewayError:
            raise
        except ANYTHING as error:
            if leaves(error):
                raise
            back.blame(error, "call_upstream", "call")
            raise_fault(error)

    async def _receive(self, call: UpstreamCall, translators: Translation, vigil: Vigil) -> None:
        out = self._out
        async with call as batches:
            out.record.accepted = time.monotonic()
            vigil.accepted()
            stopped = False
            async for chunks in batches:
                deltas, stopped = translators.feed(chunks)
                if deltas and not self.begun:
                    self._begin()
                vigil.waits = False
                told = await out.feed(deltas)
                vigil.waits = True
                vigil.heard(told=told, begun=bool(deltas))
                if stopped:
                    break
            vigil.waits = False
            if not stopped:
                await self._flush(translators)
            else:
                await out.finish(())
        if not out.ended:
            raise RuntimeError("__aexit__ returned true, which hides what went wrong")

    async def _flush(self, translators: Translation) -> None:
        """The last of the answer, with its end or without."""
        deltas, stopped = translators.flush()
        if stopped or self._request.task != "message":
            if not self.begun:
                self._begin()
            await self._out.finish(deltas)
            return
        if self.begun:
            await self._out.feed(deltas)
        else:
            self.held = deltas
        raise UpstreamError("the upstream's answer broke off before its end", status=502)

    def _begin(self) -> None:
        self.begun = True
        self._out.backend = self._back.name
        if self._trial is not None:
            self._trial.begun()
