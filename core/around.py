"""What plugins put around a whole request by the `exchange` hook: entered before it is read, left after its end."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import attrs

from core.errors import GatewayError
from core.pipeline import Pipeline
from core.raised import ANYTHING, leaves, raise_fault
from core.record import Record
from core.request import HTTPRequest

LEAVING = 5.0
"""Seconds that one of them may take to end once the client has left or the server goes."""


@attrs.define(eq=False)
class Around:
    """The contexts around one request."""

    pipeline: Pipeline
    http: HTTPRequest
    record: Record
    _entered: list[AbstractAsyncContextManager[Any]] = attrs.field(init=False, factory=list)

    async def enter(self) -> GatewayError | None:
        """Enter all, outermost first, or as many as let the request in: the error of one that does not is returned.

        What is broken raises here what it raises.
        """
        for context in self.pipeline.exchange(self.http, self.record):
            try:
                await context.__aenter__()
            except GatewayError as refusal:
                return refusal
            except ANYTHING as error:
                if leaves(error):
                    raise
                self.pipeline.blame(error, "exchange", "__aenter__")
                raise_fault(error)
            self._entered.append(context)
        return None

    async def leave(self, *, cancelled: bool) -> list[BaseException]:
        """Leave those that were entered; what any raises, for the log: the answer is out, nobody else can use it.

        All are left, also when the request is cancelled meanwhile, or one of them does not come to an end.
        """
        faults: list[BaseException] = []
        if not cancelled and self._entered:
            try:
                await self._leave(faults)
            except BaseException:
                await self._leave_surely(faults)
                raise
        await self._leave_surely(faults)
        return faults

    async def _leave_surely(self, faults: list[BaseException]) -> None:
        while self._entered:
            with anyio.move_on_after(LEAVING, shield=True) as scope:
                await self._leave(faults)
            if scope.cancelled_caught:
                faults.append(TimeoutError(f"exchange did not end within {LEAVING:g} seconds"))

    async def _leave(self, faults: list[BaseException]) -> None:
        while self._entered:
            try:
                await self._entered.pop().__aexit__(None, None, None)
            except ANYTHING as error:
                if leaves(error):
                    raise
                self.pipeline.blame(error, "exchange", "__aexit__")
                faults.append(error)
