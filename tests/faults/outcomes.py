"""The whole table of faults, played at once on one gateway."""

from __future__ import annotations

import asyncio
from typing import Final

import attrs

from tests.faults.fault import Fault
from tests.faults.reader import Answer, BrokenAnswerError
from tests.faults.script import Exchange
from tests.faults.stage import Stage

AT_ONCE: Final = 12
"""Faults that cost work and not time."""


@attrs.define
class Outcome:
    """What one fault made of one request; `lag` are the seconds from the answer's end to that of the upstream's
    connection, None where it had not ended after a while."""

    fault: Fault
    stream: bool
    answer: Answer | None = None
    broken: str = ""
    lag: float | None = None
    exchanges: int = 0
    goes_on: bool = True
    """After the answer the connection serves the next request, unless the answer says that it closes."""


async def play(stage: Stage, faults: list[Fault], together: int = 1000) -> dict[tuple[str, bool], Outcome]:
    """All faults, for a client that streams and for one that does not; of those that take time `together` at once."""
    outcomes = [Outcome(fault, stream) for fault in faults for stream in (True, False)]
    work = [outcome for outcome in outcomes if outcome.fault.backend == "up" or outcome.fault.size]
    time = [outcome for outcome in outcomes if outcome not in work]
    # What is about short limits of time has the machine for itself, and meets a gateway that is warm.
    async with stage.client() as client:
        await client.ask("up.nothing", stream=True)
        await client.answer()
    turns = asyncio.Semaphore(together)
    await asyncio.gather(*(_in_turn(stage, outcome, turns) for outcome in time))
    turns = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(_in_turn(stage, outcome, turns) for outcome in work))
    return {(outcome.fault.name, outcome.stream): outcome for outcome in outcomes}


async def _in_turn(stage: Stage, outcome: Outcome, turns: asyncio.Semaphore) -> None:
    async with turns:
        await _one(stage, outcome)


async def _one(stage: Stage, outcome: Outcome) -> None:
    fault = outcome.fault
    model = name_of(fault, stream=outcome.stream)
    try:
        async with stage.turn(model), stage.client() as client:
            await client.ask(model, stream=outcome.stream, system="x" * fault.size)
            outcome.answer = answer = await client.answer()
            exchanges = stage.upstream.exchanges[model]
            outcome.exchanges = len(exchanges)
            if fault.hangs and exchanges:
                outcome.lag = await _lag(exchanges[-1], answer.ended)
            if answer.headers.get("connection") != "close":
                await client.send(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n")
                outcome.goes_on = (await client.answer()).status == 200
    except (BrokenAnswerError, OSError, TimeoutError) as error:
        outcome.broken = f"{type(error).__name__}: {error}"


async def _lag(exchange: Exchange, ended: float) -> float | None:
    try:
        async with asyncio.timeout(5):
            await exchange.ended.wait()
    except TimeoutError:
        return None
    return exchange.ended_at - ended


def name_of(fault: Fault, *, stream: bool) -> str:
    """The model that a fault's request names."""
    return f"{fault.backend}.{fault.name}/{'stream' if stream else 'whole'}"
