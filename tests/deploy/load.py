"""Clients that ask without a pause, each in a conversation of its own, and what became of each request."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

import attrs

from tests.deploy.edge import TEXT, Edge
from tests.faults.client import Client
from tests.faults.reader import Answer, BrokenAnswerError, read_stream
from tests.server.processes import wait_until

HUNG: Final = 15.0
"""Seconds after which a request counts as hung; the longest takes one."""
KINDS: Final = ("long", "whole", "short")


@attrs.frozen
class Asked:
    """One request. `how` is `whole`, `error` (a status, or an error event), `cut` in the middle, or `hung`."""

    session: str
    model: str
    how: str
    began: float
    """By the monotonic clock."""
    replica: str = ""
    said: str = ""


def session_header(name: str) -> str:
    return f"x-claude-code-session-id: {name}"


async def ask(port: int, session: str, model: str) -> Asked:
    """One request over a connection of its own, read without trust."""
    stream = not model.startswith("whole")
    began = time.monotonic()
    try:
        async with Client(port) as client:
            await client.ask(model, session_header(session), stream=stream)
            answer = await client.answer(HUNG)
    except TimeoutError:
        return Asked(session, model, "hung", began)
    except (BrokenAnswerError, ConnectionError) as error:
        return Asked(session, model, "cut", began, said=str(error))
    replica = answer.headers.get("x-hookline-replica", "")
    return Asked(session, model, _how(answer, stream=stream), began, replica, f"{answer.status} {answer.body[-200:]!r}")


def _how(answer: Answer, *, stream: bool) -> str:
    if answer.status != 200:
        assert answer.json()["type"] == "error", answer.body
        return "error"
    if stream:
        told = read_stream(answer.body)
        assert told.error is not None or told.text == TEXT
        return "whole" if told.error is None else "error"
    assert answer.json()["content"][0]["text"] == TEXT
    return "whole"


@attrs.define(eq=False)
class Load:
    """What was asked so far, in the order of the answers."""

    edge: Edge
    asked: list[Asked] = attrs.field(factory=list)
    _over: bool = False

    def bad(self) -> list[Asked]:
        return [each for each in self.asked if each.how != "whole"]

    def wait_for_more(self, number: int) -> None:
        """Wait until so many more have been answered."""
        goal = len(self.asked) + number
        wait_until(lambda: len(self.asked) >= goal)

    def replicas(self, since: int = 0) -> dict[str, set[str]]:
        """The replicas that served each conversation."""
        found: dict[str, set[str]] = {}
        for each in self.asked[since:]:
            if each.replica:
                found.setdefault(each.session, set()).add(each.replica)
        return found

    async def _client(self, session: str, numbers: Iterator[int]) -> None:
        """One conversation."""
        kinds = itertools.cycle(KINDS)
        while not self._over:
            model = f"{next(kinds)}#{session}-{next(numbers)}"
            self.asked.append(await ask(self.edge.haproxy.port, session, model))

    async def _run(self, name: str, clients: int) -> None:
        numbers = itertools.count()
        await asyncio.gather(*(self._client(f"{name}-{number}", numbers) for number in range(clients)))


@contextmanager
def load(edge: Edge, name: str, clients: int = 16) -> Iterator[Load]:
    """Load while the block runs; behind it every request is over."""
    made = Load(edge)
    done: Future[None] = edge.begin(made._run(name, clients))
    try:
        yield made
    finally:
        made._over = True
        done.result(HUNG * 2)
