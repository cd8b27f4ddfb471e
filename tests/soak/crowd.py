"""The crowd: so many clients at once, each with one request after the other, and the book of what became of them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Final

from tests.soak.client import Connection, Result, request
from tests.soak.plan import Planner
from tests.soak.told import WrongError
from tests.soak.upstream import Upstream
from tests.soak.verdict import judge

PATIENCE: Final = 60.0
"""Seconds beyond all limits of the gateway's and the plan's after which a request hangs."""
THINK: Final = 0.2
"""Seconds that a client thinks at most before its next request."""
MOST: Final = 50
"""Complaints that are kept."""


class Crowd:
    """Clients of one gateway's port. `complaints` must be empty in the end."""

    def __init__(self, planner: Planner, upstream: Upstream, port: int, seed: int) -> None:
        self.planner = planner
        self.outcomes: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.hung = 0
        self.flying = 0
        self.added: list[float] = []
        """Seconds from the upstream's first piece to the client's."""
        self.lasted: float = 0.0
        """The longest request, in seconds."""
        self._upstream = upstream
        self._port = port
        self._dice = random.Random(seed)
        self._more = False
        self._killed: set[int] = set()
        self._killed_at = 0.0
        self._draining_at: float | None = None
        self._begun: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def come(self, clients: int) -> None:
        """So many clients begin."""
        self._more = True
        for _ in range(clients):
            task = asyncio.get_running_loop().create_task(self._client())
            self._tasks.add(task)

    async def go(self) -> None:
        """No new requests; wait until those that run have ended."""
        self._more = False
        await asyncio.gather(*self._tasks)
        self._tasks.clear()

    def killed(self, ports: set[int]) -> None:
        """The worker behind these clients' connections is being killed."""
        self._killed, self._killed_at = ports, asyncio.get_running_loop().time()

    def draining(self) -> None:
        """The server is being told to end; nobody begins a request any more."""
        self._more = False
        self._draining_at = asyncio.get_running_loop().time()
        self._begun = set(self._upstream.began)

    async def _client(self) -> None:
        kept: Connection | None = None
        while await self._goes_on():
            plan = self.planner.next()
            self.flying += 1
            try:
                result, kept = await request(self._port, plan, kept, 10 * plan.seconds + PATIENCE)
            finally:
                self.flying -= 1
            self._book(result)
            self._upstream.forget(plan)
        if kept is not None:
            kept.leave()

    async def _goes_on(self) -> bool:
        await asyncio.sleep(self._dice.uniform(0, THINK))
        return self._more

    def _book(self, result: Result) -> None:
        plan = result.plan
        draining = self._draining_at is not None and result.ended > self._draining_at
        # A connection that was kept and is dead shows with the next request on it.
        killed = result.port in self._killed and result.began - 5 <= self._killed_at <= result.ended
        self.lasted = max(self.lasted, result.ended - result.began)
        if result.first and plan.client == "reads" and (sent := self._upstream.first.get(plan.id)):
            self.added.append(result.first - sent)
        try:
            outcome = judge(result, killed=killed, draining=draining, begun=plan.id in self._begun)
        except (WrongError, KeyError, ValueError, TypeError) as error:
            hangs = not (result.end or result.wrong)
            outcome = "HUNG" if hangs else "WRONG"
            self.hung += hangs
            if len(self.complaints) < MOST:
                times = f"{result.began:.2f} to {result.ended:.2f} by the clock, the kill at {self._killed_at:.2f}"
                told = f"status {result.status}, {result.end or 'not ended'}, port {result.port}, {times}"
                self.complaints.append(f"{type(error).__name__}: {error}; {told}; {plan}")
        self.outcomes[outcome] += 1
