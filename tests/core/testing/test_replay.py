from __future__ import annotations

import httpx
import pytest

from core.testing import Assembly, UpstreamAnswer, replay, replayer
from core.testing.replay import REQUEST, Answer, Network
from tests.core.testing.plugins_for_tests import EmptyText, Plain, Raises

ANSWER = UpstreamAnswer(text="Hello 😀", shape=UpstreamAnswer().shape)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("upstream_stream", [True, False])
def test_one_request(stream: bool, upstream_stream: bool) -> None:
    wire = ANSWER.wire(stream=upstream_stream)
    reply = replay(
        [Plain],
        [wire[:50], wire[50:]],
        request={"max_tokens": 7},
        stream=stream,
        upstream_stream="always" if upstream_stream else "never",
    )
    assert reply.message["content"] == [{"type": "text", "text": "Hello 😀"}]
    assert reply.message["stop_reason"] == "end_turn"
    assert (reply.status, reply.error, reply.closed) == (200, None, True)
    assert reply.headers["content-type"].startswith("text/event-stream" if stream else "application/json")
    assert reply.sent["model"] == "upstream-model"
    assert (reply.sent["max_tokens"], bool(reply.sent.get("stream"))) == (7, upstream_stream)
    assert (reply.log["backend"], reply.log["output_tokens"]) == ("upstream", 7)
    assert reply.message["model"] == REQUEST["model"]


def test_an_upstream_error() -> None:
    reply = replay([Plain], [b'{"error":{"message":"slow down"}}'], status=429, headers={"retry-after": "3"})
    assert (reply.status, reply.headers["retry-after"]) == (429, "3")
    assert reply.error == {"type": "rate_limit_error", "message": "slow down"}
    assert reply.message == {}


def test_a_connection_that_fails_after_its_pieces() -> None:
    start = ANSWER.sse()[:-300]
    reply = replay([Plain], [start], stream=True, fails=httpx.ReadError("reset"))
    assert reply.error is not None
    assert reply.message["content"][0]["text"].startswith("Hell")


def test_a_request_that_is_refused_reaches_no_upstream() -> None:
    reply = replay([Plain], [ANSWER.json()], request={"max_tokens": -1})
    assert (reply.status, reply.sent) == (400, None)


def test_a_plugins_own_fault_is_no_answer() -> None:
    with pytest.raises(AssertionError, match="a fault"):
        replay([Raises], [ANSWER.json()])


@pytest.mark.parametrize("stream", [True, False])
def test_a_breach_of_the_protocol_is_no_answer(stream: bool) -> None:
    with pytest.raises(AssertionError, match="a text block without text"):
        replay([EmptyText], [ANSWER.json()], stream=stream)


@pytest.mark.anyio
async def test_many_replays_on_one_gateway() -> None:
    async with replayer(Assembly([Plain]), "never") as player:
        texts = [UpstreamAnswer(text=f"number {number}") for number in range(3)]
        replies = [await player.play([answer.json()], stream=True) for answer in texts]
    assert [reply.message["content"][0]["text"] for reply in replies] == ["number 0", "number 1", "number 2"]
    assert len({reply.message["id"] for reply in replies}) == 3


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "content_type"), [(b' \n{"a":1}', "application/json"), (b": hi\n\n", "text/event-stream")]
)
async def test_the_network_gives_piece_by_piece(body: bytes, content_type: str) -> None:
    network = Network()
    network.answer = Answer([body[:2], body[2:]], headers={"x-name": "v"})
    response = await network.handle_async_request(httpx.Request("POST", "http://up.invalid", json={"a": 1}))
    assert (response.headers["content-type"], response.headers["x-name"]) == (content_type, "v")
    assert isinstance(response.stream, httpx.AsyncByteStream)
    assert [piece async for piece in response.stream] == [body[:2], body[2:]]
    await response.aclose()
    assert (network.answer.sent, network.answer.closed) == ({"a": 1}, True)


def test_an_assembly_is_loaded_once_for_many_replays() -> None:
    assembly = Assembly([Plain], backend={"max_stops": 1})
    for text in ("a", "b"):
        reply = replay(assembly, [UpstreamAnswer(text=text).json()])
        assert reply.message["content"] == [{"type": "text", "text": text}]
