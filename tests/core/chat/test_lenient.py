from __future__ import annotations

from base64 import b64encode
from typing import Any

import attrs
import pytest

from core.chat.client import UpstreamClient
from core.chat.dialect import Dialect
from core.chat.lenient import LenientCall
from core.config import BackendConfig
from core.errors import UpstreamError
from core.request import DocumentBlock, Message, Request, TextBlock, ThinkingConfig
from core.route import Candidate, Route
from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply
from tests.core.chat.network import client_of
from tests.core.chat.pdfs import pdf_of

pytestmark = pytest.mark.anyio

ROUTE = Route((Candidate("up", "m"),))
REQUEST = Request(
    "message",
    messages=(Message("user", (TextBlock("hi"),)),),
    effort="high",
    thinking=ThinkingConfig("enabled", 2048),
)
DIALECT = Dialect(efforts=("low", "high"), extra={"reasoning_format": "parsed"})
SWITCHES = ("reasoning_effort", "reasoning_format")
OK = UpstreamReply(UpstreamAnswer().json())


def refusal(message: str, status: int = 400) -> UpstreamReply:
    return UpstreamReply.json({"error": {"message": message}}, status=status)


async def sent(*replies: UpstreamReply, request: Request = REQUEST, fails: bool = False) -> list[dict[str, Any]]:
    """The switches of each body that reached the upstream."""
    async with MockUpstream(*replies) as upstream, client_of(upstream.url) as client:
        call = LenientCall(request, ROUTE, client, DIALECT, switches=SWITCHES)
        if fails:
            with pytest.raises(UpstreamError):
                async with call:
                    pass
        else:
            async with call as chunks:
                assert [chunk async for batch in chunks for chunk in batch]
    bodies = [exchange.json for exchange in upstream.exchanges]
    return [{key: value for key, value in body.items() if key in SWITCHES} for body in bodies]


BOTH = {"reasoning_effort": "high", "reasoning_format": "parsed"}


async def test_what_is_taken_is_sent_once() -> None:
    assert await sent(OK) == [BOTH]


async def test_a_refused_switch_is_left_out() -> None:
    message = "reasoning_effort must be one of none or default"
    assert await sent(refusal(message), OK) == [BOTH, {"reasoning_format": "parsed"}]


async def test_one_after_the_other() -> None:
    first, second = refusal("reasoning_format is not supported"), refusal("reasoning_effort is not supported")
    assert await sent(first, second, OK) == [BOTH, {"reasoning_effort": "high"}, {}]


async def test_all_are_left_out_when_none_is_named() -> None:
    assert await sent(refusal('"qwen2.5" does not support thinking'), OK) == [BOTH, {}]


@pytest.mark.parametrize(
    "reply",
    [
        refusal("messages is empty"),
        refusal("thinking too much", 503),
        refusal("no reasoning today", 500),
        refusal("reasoning_effort", 401),
    ],
)
async def test_other_refusals_are_the_client_s(reply: UpstreamReply) -> None:
    assert await sent(reply, fails=True) == [BOTH]


async def test_a_refusal_without_any_switch_is_the_client_s() -> None:
    refused = refusal("model does not support thinking")
    assert await sent(refused, refused, fails=True) == [BOTH, {}]


async def test_the_answer_of_the_second_call_is_closed_with_the_first() -> None:
    async with MockUpstream(refusal("no thinking here"), OK) as upstream, client_of(upstream.url) as client:
        for _ in range(2):
            call = LenientCall(REQUEST, ROUTE, client, DIALECT, switches=SWITCHES)
            async with call as chunks:
                assert [chunk async for batch in chunks for chunk in batch]
    assert upstream.connections == 1


async def test_the_body_is_whole_before_a_refusal() -> None:
    client = UpstreamClient(BackendConfig("up", (), url="http://host"))
    body = LenientCall(REQUEST, ROUTE, client, DIALECT, switches=SWITCHES).body()
    assert (body["reasoning_effort"], body["reasoning_format"]) == ("high", "parsed")


async def test_the_text_of_a_pdf_is_in_both_requests() -> None:
    document = DocumentBlock("application/pdf", data=b64encode(pdf_of("Hello")).decode())
    request = attrs.evolve(REQUEST, messages=(Message("user", (document,)),))
    async with (
        MockUpstream(refusal("no thinking here"), OK) as upstream,
        client_of(upstream.url) as client,
        LenientCall(request, ROUTE, client, DIALECT, switches=SWITCHES) as chunks,
    ):
        assert [chunk async for batch in chunks for chunk in batch]
    assert [exchange.json["messages"][0]["content"] for exchange in upstream.exchanges] == ["Hello", "Hello"]
    assert upstream.connections == 1
