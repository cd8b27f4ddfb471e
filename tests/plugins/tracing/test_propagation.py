from __future__ import annotations

import httpx
import pytest

from core import Candidate, Message, Request, Route, TextBlock
from core.chat import Call, UpstreamClient
from core.config import BackendConfig
from plugins.tracing.propagation import Propagation
from plugins.tracing.tracer import Tracer
from tests.plugins.tracing.samples import PARENT, Kept, answered

pytestmark = pytest.mark.anyio


class Upstream(httpx.AsyncBaseTransport):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.seen: list[httpx.Headers] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request.headers)
        chunk = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        return httpx.Response(200, content=chunk, headers={"content-type": "text/event-stream"})


def a_call(upstream: Upstream) -> Call:
    client = UpstreamClient(BackendConfig("b", ("vllm",), url="http://host"), upstream)
    request = Request("message", model="m", messages=(Message("user", (TextBlock("hi"),)),), stream=True)
    return Call(request, Route((Candidate("b", "m"),)), client)


async def enter(call: object) -> None:
    assert isinstance(call, Call)
    async with call as batches:
        assert [chunk async for chunks in batches for chunk in chunks]


async def test_the_upstream_is_told_the_trace() -> None:
    upstream = Upstream()
    record = answered(("traceparent", PARENT), ("tracestate", "vendor=1"))
    call = a_call(upstream)
    async with Tracer(Kept(), 1.0, {}).begin(record):
        await enter(Propagation().told(call))
    (headers,) = upstream.seen
    version, trace, span, flags = headers["traceparent"].split("-")
    assert (version, trace, flags) == ("00", record.trace_id, "01")
    assert span not in PARENT
    assert headers["tracestate"] == "vendor=1"
    await enter(call)
    assert "traceparent" not in upstream.seen[1]


async def test_one_that_is_not_sampled_is_told_too() -> None:
    upstream = Upstream()
    async with Tracer(Kept(), 0.0, {}).begin(answered()):
        await enter(Propagation().told(a_call(upstream)))
    assert upstream.seen[0]["traceparent"].endswith("-00")


async def test_without_a_trace_nothing_is_told() -> None:
    upstream = Upstream()
    await enter(Propagation().told(a_call(upstream)))
    assert "traceparent" not in upstream.seen[0]


async def test_each_request_is_told_its_own_on_one_client() -> None:
    upstream, propagation, records = Upstream(), Propagation(), [answered(), answered()]
    call = a_call(upstream)
    for record in records:
        async with Tracer(Kept(), 1.0, {}).begin(record):
            await enter(propagation.told(call))
    assert [headers["traceparent"].split("-")[1] for headers in upstream.seen] == [each.trace_id for each in records]
    clients = {id(told.client) for told in (propagation.told(call), propagation.told(call)) if isinstance(told, Call)}
    assert len(clients) == 1


async def test_what_sends_no_http_stays_as_it_is() -> None:
    other = object()
    assert Propagation().told(other) is other  # type: ignore[arg-type]
