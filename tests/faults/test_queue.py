"""The places of a backend: who waits, who is told to come again, and who gives a place back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.client import Client
from tests.faults.pair import GOOD, Pair, name_at
from tests.faults.reader import Answer
from tests.faults.script import Exchange, Script, hang, wait
from tests.faults.stage import Stage

HELD: Script = (wait, *GOOD)
NAME = "x-hookline-backend"


def text_of(exchange: Exchange) -> str:
    """What the request said."""
    return str(exchange.request["messages"][-1]["content"])


async def waiting(pair: Stage, client: Client, model: str, text: str = "hi", *, key: str = "one") -> None:
    """Send a request, and give the gateway the time to queue it."""
    await client.ask(model, stream=False, key=key, messages=[{"role": "user", "content": text}])
    await asyncio.sleep(0.1)


async def test_one_more_than_may_wait_is_told_to_come_again_and_one_that_leaves_makes_room(pair: Pair) -> None:
    model = "is narrow"
    pair.upstream.scripts[model] = HELD
    async with pair.client() as first, pair.client() as second, pair.client() as third, pair.client() as fourth:
        await waiting(pair, first, model, "first")
        exchange = await pair.upstream.exchange(model)
        await waiting(pair, second, model, "second")
        await waiting(pair, third, model, "third")
        refusal = await third.answer()
        assert (refusal.status, refusal.json()["error"]["type"]) == (529, "overloaded_error")
        assert "busy" in refusal.json()["error"]["message"]
        assert int(refusal.headers["retry-after"]) >= 1
        assert (refusal.headers["x-should-retry"], refusal.headers[NAME]) == ("true", name_at(model, 0))
        second.leave()
        await asyncio.sleep(0.1)
        await waiting(pair, fourth, model, "fourth")
        assert len(pair.upstream.exchanges[model]) == 1
        exchange.go.set()
        assert (await first.answer()).status == 200
        (await pair.upstream.exchange(model, 1)).go.set()
        assert (await fourth.answer()).status == 200
    assert list(map(text_of, pair.upstream.exchanges[model])) == ["first", "fourth"]


async def test_those_with_different_keys_take_turns(pair: Pair) -> None:
    model = "is fair"
    pair.upstream.scripts[model] = HELD
    named = [("one", "1"), ("one", "2"), ("one", "3"), ("one", "4"), ("two", "a"), ("two", "b"), ("three", "x")]
    clients = [pair.client() for _ in named]
    try:
        for client, (key, text) in zip(clients, named, strict=True):
            await client.__aenter__()
            await waiting(pair, client, model, text, key=key)
        for number in range(len(named)):
            (await pair.upstream.exchange(model, number)).go.set()
        assert {(await client.answer()).status for client in clients} == {200}
    finally:
        for client in clients:
            client.leave()
    assert list(map(text_of, pair.upstream.exchanges[model])) == ["1", "2", "a", "x", "3", "b", "4"]


async def test_a_turn_that_does_not_come_in_time(pair: Pair) -> None:
    model = "is slow"
    pair.upstream.scripts[model] = HELD
    async with pair.client() as first, pair.client() as second:
        await waiting(pair, first, model)
        exchange = await pair.upstream.exchange(model)
        await second.ask(model, stream=True)
        answer = await second.answer()
        assert answer.status == 529
        assert int(answer.headers["retry-after"]) >= 1
        exchange.go.set()
        assert (await first.answer()).status == 200


async def test_what_has_no_place_at_one_goes_to_another_that_has(pair: Pair) -> None:
    model = "overflows"
    pair.upstream.scripts[model] = pair.others["second"].scripts[model] = HELD
    async with pair.client() as first, pair.client() as second, pair.client() as third:
        await waiting(pair, first, model)
        exchange = await pair.upstream.exchange(model)
        await waiting(pair, second, model)
        other = await pair.others["second"].exchange(model)
        await waiting(pair, third, model)
        assert (len(pair.upstream.exchanges[model]), len(pair.others["second"].exchanges[model])) == (1, 1)
        exchange.go.set()
        other.go.set()
        assert (await second.answer()).headers[NAME] == name_at(model, 1)
        (await pair.upstream.exchange(model, 1)).go.set()
        assert (await third.answer()).headers[NAME] == name_at(model, 0)


async def test_a_crowd_of_whom_many_leave_never_takes_more_places_than_there_are(pair: Pair) -> None:
    model = "crowds"
    pair.upstream.scripts[model] = HELD
    most = 0

    async def one(number: int) -> Answer | None:
        async with pair.client() as client:
            await client.ask(model, stream=bool(number % 2), key=f"key-{number % 4}")
            if number % 3 == 0:
                await asyncio.sleep(0.01 * number)
                return None
            return await client.answer()

    async def serve() -> None:
        nonlocal most
        for number in range(1000):
            exchange = await pair.upstream.exchange(model, number)
            running = [each for each in pair.upstream.exchanges[model] if not each.go.is_set() and not each.ended_at]
            most = max(most, len(running))
            await asyncio.sleep(0.02)
            exchange.go.set()

    serving = asyncio.create_task(serve())
    answers = await asyncio.gather(*map(one, range(45)))
    serving.cancel()
    assert {answer.status for answer in answers if answer is not None} == {200}
    assert 1 <= most <= 3
    pair.upstream.scripts[model] = GOOD
    async with pair.client() as client:
        await client.ask(model, stream=False)
        assert (await client.answer(5)).status == 200


class Narrow(Stage):
    """One backend with one place."""

    def tables(self, urls: dict[str, str]) -> str:
        limits = "[server]\ndrain_timeout = 0.5\n"
        row = '[models]\n"*" = { backend = "one" }\n'
        backend = f'[backends.one]\nplugins = ["openai"]\nmax_concurrent = 1\nurl = "{urls["up"]}"\n'
        return f"{limits}{row}{backend}"


@pytest.fixture(params=["uvloop", "asyncio"])
def narrow(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Narrow]:
    made = Narrow({"m": (hang,)})
    with made.open(tmp_path, request.param):
        yield made


def test_a_server_that_ends_tells_those_who_wait(narrow: Narrow) -> None:
    async def run() -> list[Answer]:
        async with narrow.client() as first, narrow.client() as second:
            await waiting(narrow, first, "m")
            await narrow.upstream.exchange("m")
            await second.ask("m", stream=True)
            await asyncio.sleep(0.1)
            narrow.served.process.terminate()
            return [await first.answer(), await second.answer()]

    for answer in narrow.run(run()):
        assert (answer.status, answer.json()["error"]["type"]) == (529, "overloaded_error")
        assert "shutting down" in answer.json()["error"]["message"]
    assert narrow.served.process.wait(20) == 0
    assert len(narrow.upstream.exchanges["m"]) == 1
