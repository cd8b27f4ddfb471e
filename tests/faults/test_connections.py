"""Connections to upstreams that are kept, and what may come over them."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.stage import Stage


async def test_an_upstream_that_closes_idle_connections(stage: Stage) -> None:
    async with stage.client() as client:
        for number in range(50):
            await client.ask("closer.closes idle", stream=False)
            assert (await client.answer()).status == 200
            await (await stage.upstream.exchange("closer.closes idle", number)).ended.wait()


@pytest.mark.parametrize("model", ["twin.answers twice", "lone.answers unasked"])
async def test_an_answer_that_nobody_asked_for_reaches_nobody(stage: Stage, model: str) -> None:
    """It comes with the one that was asked for, or later, while the connection is idle: then the connection is closed."""
    async with stage.client() as client:
        for number in range(20):
            await client.ask(model, stream=False)
            answer = await client.answer()
            assert answer.status == 200
            assert b"POISON" not in answer.body
            exchange = await stage.upstream.exchange(model, number)
            await asyncio.wait_for(exchange.ended.wait(), 5)


async def test_an_engine_that_babbles_is_ended(stage: Stage) -> None:
    """Whatever waits for the end of an answer has a bound: here the answer to a client that does not stream."""
    async with stage.client() as client:
        await client.ask("up.babbles", stream=False)
        answer = await client.answer(60)
    assert answer.status == 502
    assert answer.json()["error"]["message"] == "the upstream sent a stream of more than 134217728 bytes"
    (exchange,) = stage.upstream.exchanges["up.babbles"]
    await asyncio.wait_for(exchange.ended.wait(), 5)
