"""A replica that dies before an answer begins: each client is told so, and none is asked to send its request again."""

from __future__ import annotations

import asyncio

from tests.deploy.edge import Edge
from tests.deploy.load import ask, session_header
from tests.faults.client import Client
from tests.faults.reader import Answer

HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""How a client begins that speaks HTTP/2 without asking."""


async def at_one(edge: Edge) -> str:
    """A conversation whose home is the replica `one`."""
    for number in range(40):
        session = f"home{number}"
        if (await ask(edge.haproxy.port, session, f"short#{session}")).replica == "one":
            return session
    raise AssertionError("all conversations are with the other replica")


def test_each_answer_is_the_last_of_its_connection(edge: Edge) -> None:
    async def answers() -> list[Answer]:
        found = []
        for model in ("short#last", "whole#last"):
            async with Client(edge.haproxy.port) as client:
                await client.ask(model, stream=model.startswith("short"))
                found.append(await client.answer())
                assert await client.reader.read() == b""
        return found

    assert [(each.status, each.headers["connection"]) for each in edge.run(answers())] == [(200, "close")] * 2


def test_http2_is_not_spoken(edge: Edge) -> None:
    async def said() -> bytes:
        async with Client(edge.haproxy.port) as client:
            await client.send(HTTP2)
            return await client.reader.read()

    assert edge.run(said()).startswith(b"HTTP/1.1 400 ")


def test_a_replica_that_dies_before_its_answer_begins_is_a_502(edge: Edge) -> None:
    models = [f"silent#dies{number}" for number in range(4)]

    async def asked(session: str, model: str) -> Answer:
        async with Client(edge.haproxy.port) as client:
            await client.ask(model, session_header(session), stream=model.endswith(("1", "3")))
            return await client.answer()

    async def all_asked(session: str) -> list[Answer]:
        return list(await asyncio.gather(*(asked(session, model) for model in models)))

    answers = edge.begin(all_asked(edge.run(at_one(edge))))
    for model in models:
        edge.run(edge.upstream.exchange(model))
    edge.kill("one")
    for answer in answers.result(20):
        assert answer.status == 502
        assert answer.json() == {"type": "error", "error": {"type": "api_error", "message": "the gateway broke off"}}
    edge.haproxy.wait_for("one", "DOWN")
    edge.start("one")
    assert [edge.asked()[model] for model in models] == [1] * 4
