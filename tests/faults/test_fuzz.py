"""Whatever comes, from either side, gets an answer that is whole and in order."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.client import head_of
from tests.faults.fuzz import ANSWERS, REQUESTS, request
from tests.faults.leaks import FORBIDDEN
from tests.faults.reader import Answer, read_stream
from tests.faults.stage import Stage


def check(answer: Answer) -> None:
    if answer.headers["content-type"].startswith("text/event-stream"):
        assert answer.status == 200
        read_stream(answer.body)
    else:
        told = answer.json()
        assert told["type"] == ("message" if answer.status == 200 else "error")
        assert answer.status == 200 or told["request_id"] == answer.headers["request-id"]
    assert not [word for word in FORBIDDEN if word.encode() in answer.raw + answer.body]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_spoilt_answers(stage: Stage, stream: bool) -> None:
    async def ask(number: int) -> None:
        async with stage.client() as client:
            for seed in range(number, ANSWERS, 5):
                await client.ask(f"quick.fuzz {seed}", stream=stream)
                check(await client.answer())

    await asyncio.gather(*map(ask, range(5)))


async def test_spoilt_requests(stage: Stage) -> None:
    async with stage.client() as client:
        for seed in range(REQUESTS):
            body = request(seed)
            await client.send(head_of(len(body)) + body)
            answer = await client.answer()
            assert answer.status < 500, (seed, answer.body)
            check(answer)
