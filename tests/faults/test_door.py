"""What a request may be, and how many there may be at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import pytest

from tests.faults.client import body_of, head_of
from tests.faults.leaks import FORBIDDEN
from tests.faults.reader import Answer
from tests.faults.stage import BODY, Stage

MESSAGE: Final = {"role": "user", "content": "hi"}


def plain(**fields: Any) -> bytes:
    return json.dumps({"model": "up.good", "max_tokens": 50, "messages": [MESSAGE], **fields}).encode()


def check(answer: Answer, status: int, kind: str) -> str:
    """An error in the envelope, with nothing in it that is not the client's; its message."""
    assert answer.status == status, answer.body[:300]
    told = answer.json()
    assert told["type"] == "error"
    assert told["error"]["type"] == kind
    assert told["request_id"] == answer.headers["request-id"]
    assert not [word for word in FORBIDDEN if word.encode() in answer.raw + answer.body]
    assert len(answer.body) < 10_000
    return str(told["error"]["message"])


BAD: Final[dict[str, bytes]] = {
    "nothing": b"",
    "no JSON": b"hello",
    "half a JSON": plain()[:-3],
    "an array": b"[]",
    "null": b"null",
    "a number": b"7",
    "invalid UTF-8": plain(system="X").replace(b"X", b"\xff\xfe"),
    "half a UTF-8 character": plain(system="X").replace(b"X", b"\xc3"),
    "UTF-16": plain().decode().encode("utf-16"),
    "a NUL byte": plain() + b"\0",
    "NaN": plain(temperature=1).replace(b'"temperature": 1', b'"temperature": NaN'),
    "infinity": plain(temperature=1).replace(b'"temperature": 1', b'"temperature": 1e999'),
    "a huge integer": plain(max_tokens=1).replace(b'"max_tokens": 1', b'"max_tokens": ' + b"9" * 5000),
    "a negative limit": plain(max_tokens=-1),
    "a limit that is no number": plain(max_tokens="many"),
    "arrays, deep": b"[" * 1_000_000,
    "objects, deep": b'{"a":' * 200_000,
    "closed and deep": b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "more messages than there may be": plain(messages=[MESSAGE] * 100_001),
    "messages that are none": plain(messages=[1] * 100_000),
    "no messages": plain(messages=[]),
    "messages in an object": plain(messages={"role": "user"}),
    "many small faults": plain(messages=[{"role": "user", "content": [{"type": "text"}]}] * 1000),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_body_is_refused(stage: Stage, name: str) -> None:
    body = BAD[name]
    async with stage.client() as client:
        await client.send(head_of(len(body)) + body)
        check(await client.answer(), 400, "invalid_request_error")
        await client.ask("up.good", stream=False)
        assert (await client.answer()).status == 200


@pytest.mark.parametrize("depth", [100, 900, 5_000, 100_000])
async def test_a_deep_field_is_passed_on_or_refused(stage: Stage, depth: int) -> None:
    body = plain(tools=[{"name": "f", "input_schema": "DEEP"}]).replace(
        b'"DEEP"', b'{"a":' * depth + b"1" + b"}" * depth
    )
    async with stage.client() as client:
        await client.send(head_of(len(body)) + body)
        answer = await client.answer()
    assert answer.status in (200, 400)
    if answer.status == 400:
        check(answer, 400, "invalid_request_error")


async def test_a_body_that_is_announced_too_large(stage: Stage) -> None:
    async with stage.client() as client:
        await client.send(head_of(12_000_001))
        answer = await client.answer(BODY)
    check(answer, 413, "request_too_large")
    assert answer.headers["connection"] == "close"


async def test_a_body_that_grows_too_large(stage: Stage) -> None:
    head = head_of(0).replace(b"content-length: 0", b"transfer-encoding: chunked")
    async with stage.client() as client:
        await client.send(head)
        sending = asyncio.create_task(_flood(client.writer))
        answer = await client.answer()
        sending.cancel()
    check(answer, 413, "request_too_large")


async def _flood(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await writer.drain()


@pytest.mark.parametrize("part", [0, 30])
async def test_a_body_that_does_not_come(stage: Stage, part: int) -> None:
    body = plain()
    async with stage.client() as client:
        await client.send(head_of(len(body)) + body[:part])
        answer = await client.answer(BODY + 5)
    assert "3 seconds" in check(answer, 408, "invalid_request_error")
    assert answer.headers["connection"] == "close"


async def test_a_body_that_comes_byte_by_byte(stage: Stage) -> None:
    body = plain()
    async with stage.client() as client:
        await client.send(head_of(len(body)))
        for byte in body:
            await client.send(bytes((byte,)))
        assert (await client.answer()).status == 200


async def test_one_that_waits_for_leave_to_send_gets_it(stage: Stage) -> None:
    body = plain()
    async with stage.client() as client:
        await client.send(head_of(len(body), "/v1/messages", "expect: 100-continue"))
        await client.until(b"HTTP/1.1 100 ")
        await client.send(body)
        assert (await client.answer()).status == 200


async def test_two_in_a_row_get_two_answers(stage: Stage) -> None:
    async with stage.client() as client:
        first, second = body_of("up.good", stream=True), b"{"
        await client.send(head_of(len(first)) + first + head_of(len(second)) + second)
        assert (await client.answer()).status == 200
        assert (await client.answer()).status == 400


def test_more_at_once_than_there_may_be(stage: Stage, alone: None) -> None:
    stage.run(_crowd(stage))


async def _crowd(stage: Stage) -> None:
    clients = [stage.client() for _ in range(300)]
    try:
        for client in clients:
            await client.__aenter__()
            await client.ask("up.held", stream=False)
        await stage.upstream.exchange("up.held", 299)
        async with stage.client() as more:
            await more.ask("up.good", stream=True)
            refused = await more.answer()
        check(refused, 529, "overloaded_error")
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["x-should-retry"] == "true"
        for exchange in stage.upstream.exchanges["up.held"]:
            exchange.go.set()
        assert {(await client.answer()).status for client in clients} == {200}
    finally:
        for client in clients:
            client.leave()
