"""Clients that leave, stall, or dawdle."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.client import body_of, head_of
from tests.faults.reader import BrokenAnswerError, read_answer, read_stream
from tests.faults.scenes import LARGE
from tests.faults.script import Exchange
from tests.faults.stage import CLIENT, Stage

LEFT = 1.5
"""Seconds in which the upstream sees that nobody waits any more; on a machine that is not busy it is a hundredth."""
SMALL = 16 * 1024
"""Bytes that the kernel keeps for a client that takes nothing."""
AHEAD = 12_000_000
"""Bytes that may be taken from the upstream for a client that takes nothing: the kernel's buffers, mostly."""


async def gone(exchange: Exchange, since: float, seconds: float = LEFT) -> None:
    async with asyncio.timeout(seconds + 5):
        await exchange.ended.wait()
    assert exchange.ended_at - since < seconds


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("script", ["unbegun", "begun", "flood"])
async def test_one_that_leaves_ends_its_generation(stage: Stage, script: str, stream: bool) -> None:
    model = f"up.{script}#{stream}"
    async with stage.client() as client:
        await client.ask(model, stream=stream)
        exchange = await stage.upstream.exchange(model)
        if stream and script != "unbegun":
            await client.until(b"text_delta")
        client.leave()
        await gone(exchange, now())


@pytest.mark.parametrize("script", ["unbegun", "begun"])
async def test_one_that_closes_its_half_has_left(stage: Stage, script: str) -> None:
    model = f"up.{script}#half"
    async with stage.client() as client:
        await client.ask(model, stream=True)
        exchange = await stage.upstream.exchange(model)
        client.writer.write_eof()
        await gone(exchange, now())


@pytest.mark.parametrize("part", [0, 1, 50])
async def test_one_that_leaves_in_its_body_asks_nothing(stage: Stage, part: int) -> None:
    body = body_of("up.never", stream=True)
    async with stage.client() as client:
        await client.send(head_of(len(body)) + body[:part])
        await asyncio.sleep(0.1)
    async with stage.client() as client:
        await client.ask("up.good", stream=False)
        assert (await client.answer()).status == 200
    assert not stage.upstream.exchanges["up.never"]


async def test_one_that_takes_nothing_of_a_flood(stage: Stage) -> None:
    """The upstream is slowed down to nothing, and left when the client's time is over."""
    async with stage.client(SMALL) as client:
        await client.ask("up.stalled flood", stream=True)
        began = now()
        exchange = await stage.upstream.exchange("up.stalled flood")
        await gone(exchange, began, CLIENT + 3)
        assert exchange.ended_at - began > 0.9 * CLIENT
        assert exchange.accepted < AHEAD
        with pytest.raises(BrokenAnswerError):
            await client.answer(5)


async def test_one_that_takes_nothing_of_a_large_answer(stage: Stage) -> None:
    async with stage.client(SMALL) as client:
        await client.ask("up.large", stream=False)
        await client.until(b"HTTP/1.1 200")
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(CLIENT + 2)
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        total = 0
        try:
            while data := await client.reader.read(65536):
                total += len(data)
        except ConnectionError:
            pass
    assert total < len(LARGE)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_one_that_takes_its_time_gets_all(stage: Stage, stream: bool) -> None:
    """Six megabytes in six times the limit, without a pause that reaches it."""
    async with stage.client(SMALL) as client:
        began = now()
        await client.ask("up.long" if stream else "up.large", "connection: close", stream=stream)
        reader = asyncio.StreamReader(limit=1 << 26)
        while data := await client.reader.read(100_000):
            reader.feed_data(data)
            await asyncio.sleep(6 * CLIENT / (len(LARGE) / len(data)))
        reader.feed_eof()
        answer = await read_answer(reader)
        assert now() - began > 5 * CLIENT
    text = read_stream(answer.body).text if stream else answer.json()["content"][0]["text"]
    assert text == LARGE
