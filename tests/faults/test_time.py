"""Limits of time, and signs of life."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.reader import read_stream
from tests.faults.stage import PING, Stage


async def test_life_is_shown_before_the_first_token(stage: Stage) -> None:
    async with stage.client() as client:
        await client.ask("patient.late token", stream=True)
        seen = await client.until(b"event: ping")
        assert b"event: message_start" in seen
        await asyncio.sleep(0.1)
        (exchange,) = stage.upstream.exchanges["patient.late token"]
        exchange.go.set()
        rest = await client.until(b'message_stop"}\n\n\r\n0\r\n\r\n')
    assert b"Gr" in rest


async def test_life_is_shown_in_a_silence(stage: Stage) -> None:
    loop = asyncio.get_running_loop()
    async with stage.client() as client:
        await client.ask("patient.late end", stream=True)
        await client.until(b"text_delta")
        began = loop.time()
        await client.until(b"event: ping")
        first = loop.time() - began
        await client.until(b"event: ping")
        (exchange,) = stage.upstream.exchanges["patient.late end"]
        exchange.go.set()
        await client.until(b"message_stop")
    assert 0.9 * PING < first < 2 * PING


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(("script", "status"), [("late head", 200), ("late refusal", 529)])
async def test_nothing_is_shown_until_the_upstream_accepts(
    stage: Stage, script: str, status: int, stream: bool
) -> None:
    model = f"patient.{script}#{stream}"
    async with stage.client() as client:
        await client.ask(model, stream=stream)
        exchange = await stage.upstream.exchange(model)
        with pytest.raises(TimeoutError):
            await client.until(b"x", PING * 1.2)
        exchange.go.set()
        answer = await client.answer()
    assert answer.status == status


async def test_a_steady_answer_may_take_longer_than_a_silence(stage: Stage) -> None:
    async with stage.client() as client:
        await client.ask("quick.steady", stream=True)
        told = read_stream((await client.answer()).body)
    assert told.error is None
    assert told.text == "Grüße " * 4


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_an_answer_without_end_is_ended(stage: Stage, stream: bool) -> None:
    loop = asyncio.get_running_loop()
    async with stage.client() as client:
        began = loop.time()
        await client.ask(f"capped.endless#{stream}", stream=stream)
        answer = await client.answer()
        took = loop.time() - began
    error = read_stream(answer.body).error if stream else answer.json()["error"]
    assert error == {"type": "timeout_error", "message": "the answer was not complete after 4 seconds"}
    assert answer.status == (200 if stream else 504)
    assert 3.9 < took < 8
