"""Several backends behind one name: who takes over, who does not, and what the client is told when all fail."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.faults.fault import CHUNKED, DONE, FINISH, SSE, Fault, chunk, framed
from tests.faults.leaks import FORBIDDEN
from tests.faults.outcomes import Outcome, name_of
from tests.faults.pair import FAILING, GOOD, PING, SAID, SOON, THOUGHT, Pair, fails_over, name_at, refused
from tests.faults.reader import Answer, read_stream
from tests.faults.script import close, hang, reset, wait
from tests.faults.test_upstream import check_event, check_refusal, check_success

NAME = "x-hookline-backend"
LATE = 0.25
"""Seconds by which an upstream may hear later that its connection has ended than another that it has a request."""


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("fault", FAILING, ids=str)
def test_a_fault_is_taken_over_before_the_answer_begins_and_never_after(
    pair: Pair, taken_over: dict[tuple[str, bool], Outcome], fault: Fault, stream: bool
) -> None:
    outcome = taken_over[fault.name, stream]
    assert not outcome.broken
    answer = outcome.answer
    assert answer is not None
    everything = (answer.raw + answer.body).decode()
    assert not [word for word in FORBIDDEN if word in everything]
    assert outcome.exchanges <= 1, "the request was sent again"
    model = name_of(fault, stream=stream)
    others = pair.others["second"].exchanges[model]
    if fails_over(fault):
        check_second(answer, stream=stream)
        assert len(others) == 1
        if fault.hangs:
            for exchange in pair.upstream.exchanges[model]:
                assert exchange.ended_at < others[0].began_at + LATE
        return
    assert not others, "it was sent to another"
    # Where life was shown before, nobody knew yet who would serve.
    assert answer.headers.get(NAME) == pair.slots[model] or b"event: ping" in answer.body
    if fault.status == 200 and answer.status == 200:
        check_success(answer, fault, stream=stream)
    elif stream and (fault.text or fault.begun or b"event: ping" in answer.body):
        check_event(answer, fault)
    else:
        check_refusal(answer, fault)


def check_second(answer: Answer, *, stream: bool) -> None:
    """The whole answer of the second backend, in its own dialect, and nothing of the first's."""
    assert answer.status == 200
    if stream:
        told = read_stream(answer.body)
        assert (told.text, told.thinking, told.stop_reason) == (SAID, THOUGHT, "end_turn")
        assert answer.headers.get(NAME) in (("second", None) if told.pings else ("second",))
    else:
        assert [block.get("text", block.get("thinking")) for block in answer.json()["content"]] == [THOUGHT, SAID]
        assert answer.headers[NAME] == "second"


async def ask(pair: Pair, model: str, *headers: str, stream: bool = False) -> Answer:
    """The answer to one request."""
    async with pair.client() as client:
        await client.ask(model, *headers, stream=stream)
        return await client.answer()


async def test_one_that_asks_for_time_gets_it_and_then_its_traffic_back(pair: Pair) -> None:
    pair.upstream.scripts["cools"] = refused(429, SOON)
    began = asyncio.get_running_loop().time()
    served = [(await ask(pair, "cools")).headers[NAME] for _ in range(4)]
    assert served == [name_at("cools", 1)] * 4
    assert len(pair.upstream.exchanges["cools"]) == 1
    pair.upstream.scripts["cools"] = GOOD
    async with asyncio.timeout(5):
        for _ in range(100):
            if (await ask(pair, "cools")).headers[NAME] == name_at("cools", 0):
                break
            await asyncio.sleep(0.05)
    assert pair.upstream.exchanges["cools"][1].began_at - began >= 1.0
    assert (await ask(pair, "cools")).headers[NAME] == name_at("cools", 0)


async def test_after_its_time_one_request_tries_it_and_the_others_do_not(pair: Pair) -> None:
    pair.upstream.scripts["probes"] = refused(503, SOON)
    assert (await ask(pair, "probes")).status == 200
    pair.upstream.scripts["probes"] = (wait, *GOOD)
    await asyncio.sleep(1.1)
    probe = asyncio.create_task(ask(pair, "probes"))
    exchange = await pair.upstream.exchange("probes", 1)
    others = await asyncio.gather(*(ask(pair, "probes") for _ in range(5)))
    assert {answer.headers[NAME] for answer in others} == {name_at("probes", 1)}
    assert len(pair.upstream.exchanges["probes"]) == 2
    exchange.go.set()
    assert (await probe).headers[NAME] == name_at("probes", 0)
    pair.upstream.scripts["probes"] = GOOD
    assert (await ask(pair, "probes")).headers[NAME] == name_at("probes", 0)


@pytest.mark.parametrize("model", ["all fail, stream", "all fail, whole"])
async def test_all_fail_and_the_client_is_told_the_most_useful(pair: Pair, model: str) -> None:
    """And the soonest time to come again; until then those that asked for time are left alone."""
    stream = model.endswith("stream")
    pair.upstream.scripts[model] = refused(503, "retry-after: 40")
    pair.others["second"].scripts[model] = refused(429, "retry-after: 90", message="slow down")
    pair.others["third"].scripts[model] = refused(500)
    for _ in range(2):
        answer = await ask(pair, model, stream=stream)
        assert (answer.status, answer.json()["error"]["type"]) == (429, "rate_limit_error")
        assert answer.json()["error"]["message"] == "slow down"
        assert int(answer.headers["retry-after"]) in (39, 40)
        assert (answer.headers["x-should-retry"], answer.headers[NAME]) == ("true", name_at(model, 2))
    came = [len(pair.at(name).exchanges[model]) for name in ("first", "second", "third")]
    assert came == [1, 1, 2]


async def test_no_connection_to_any_of_them(pair: Pair) -> None:
    answer = await ask(pair, "none is there")
    assert answer.status == 529
    assert 1 <= int(answer.headers["retry-after"]) <= 2


async def test_the_third_answers_in_its_own_dialect(pair: Pair) -> None:
    pair.upstream.scripts["three"] = (SSE, close)
    pair.others["second"].scripts["three"] = (reset,)
    answer = await ask(pair, "three", stream=True)
    told = read_stream(answer.body)
    assert (told.text, told.thinking, answer.headers[NAME]) == ("from the third", "Hm", name_at("three", 2))
    async with asyncio.timeout(5):
        for _ in range(100):
            lines = [line for line in pair.served.lines("request") if line.get("model") == "three"]
            if lines:
                break
            await asyncio.sleep(0.05)
    (line,) = lines
    assert line["backend"] == name_at("three", 2)
    assert line["tried"].startswith(f"{name_at('three', 0)}: 502 ")
    assert f"; {name_at('three', 1)}: 502 " in line["tried"]


async def test_many_at_once_are_all_taken_over_and_each_is_sent_once(pair: Pair) -> None:
    pair.upstream.scripts["bursts"] = (reset,)
    texts = [f"request {number}" for number in range(12)]

    async def one(text: str) -> int:
        async with pair.client() as client:
            await client.ask("bursts", stream=True, messages=[{"role": "user", "content": text}])
            told = read_stream((await client.answer()).body)
            assert (told.text, told.error) == (SAID, None)
            return 1

    assert sum(await asyncio.gather(*map(one, texts))) == 12
    for upstream in (pair.upstream, pair.others["second"]):
        came = [json.dumps(exchange.request["messages"]) for exchange in upstream.exchanges["bursts"]]
        assert len(came) == len(set(came))
    assert len(pair.others["second"].exchanges["bursts"]) == 12


async def test_life_goes_on_being_shown_while_another_takes_over(pair: Pair) -> None:
    pair.upstream.scripts["shows life"] = (CHUNKED, wait, reset)
    pair.others["second"].scripts["shows life"] = (CHUNKED, wait, framed(chunk(content=SAID) + FINISH + DONE), close)
    async with pair.client() as client:
        await client.ask("shows life", stream=True)
        seen = await client.until(b"event: ping")
        (exchange,) = pair.upstream.exchanges["shows life"]
        exchange.go.set()
        other = await pair.others["second"].exchange("shows life")
        began = asyncio.get_running_loop().time()
        for _ in range(2):
            seen += await client.until(b"event: ping")
        assert asyncio.get_running_loop().time() - began < 4 * PING
        other.go.set()
        seen += await client.until(b'message_stop"}\n\n\r\n0\r\n\r\n')
    head, _, _ = seen.partition(b"\r\n\r\n")
    assert NAME.encode() not in head
    assert seen.count(b"event: message_start") == 1
    assert SAID.encode() in seen


@pytest.mark.parametrize("model", ["is left", "is left for good"])
async def test_a_client_that_leaves_ends_the_attempt_that_runs(pair: Pair, model: str) -> None:
    """And no other follows it."""
    second = pair.others["second"]
    pair.upstream.scripts[model] = (close,) if model == "is left" else (hang,)
    second.scripts[model] = (hang,)
    async with pair.client() as client:
        await client.ask(model, stream=True)
        upstream = second if model == "is left" else pair.upstream
        exchange = await upstream.exchange(model)
    await asyncio.wait_for(exchange.ended.wait(), 5)
    await asyncio.sleep(0.1)
    assert len(second.exchanges[model]) == (1 if model == "is left" else 0)


async def test_a_conversation_stays_where_its_prefix_is(pair: Pair) -> None:
    first = {}
    for number in range(24):
        session = f"x-claude-code-session-id: session-{number}"
        first[session] = (await ask(pair, "has sessions", session)).headers[NAME]
    assert len(set(first.values())) == 3
    for session, name in first.items():
        assert (await ask(pair, "has sessions", session)).headers[NAME] == name


async def test_weights_are_the_shares_of_conversations(pair: Pair) -> None:
    sessions = [f"x-claude-code-session-id: {number}" for number in range(80)]
    names = [(await ask(pair, "has weights", session)).headers[NAME] for session in sessions]
    assert 45 <= names.count(name_at("has weights", 0)) <= 73


async def test_a_count_is_made_whatever_the_health_is(pair: Pair) -> None:
    pair.upstream.scripts["counts"] = refused(429, "retry-after: 60")
    pair.others["second"].scripts["counts"] = refused(429, "retry-after: 60")
    assert (await ask(pair, "counts")).status == 429
    body = json.dumps({"model": "counts", "messages": [{"role": "user", "content": "hi"}]}).encode()
    async with pair.client() as client:
        lines = ["POST /v1/messages/count_tokens HTTP/1.1", "host: h", f"content-length: {len(body)}", "", ""]
        await client.send("\r\n".join(lines).encode() + body)
        answer = await client.answer()
    assert answer.status == 200
    assert answer.json()["input_tokens"] > 0
