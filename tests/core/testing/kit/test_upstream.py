"""The upstream in process, and its client."""

from __future__ import annotations

import anyio
import pytest

from core.testing import Assembly, UpstreamAnswer
from core.testing.kit.upstream import Client, Upstream
from tests.core.testing.kit.backends_for_tests import Straight

pytestmark = pytest.mark.anyio


async def test_a_request_is_seen_and_answered() -> None:
    upstream = Upstream(lambda body: [UpstreamAnswer(text="Hi").wire(stream=bool(body["stream"]))])
    client = Client(Assembly([Straight]).gateway(upstream))
    await client.ask(stream=True)
    assert client.status == 200
    assert b'"text":"Hi"' in client.body
    assert upstream.asked[0].closed
    assert upstream.asked[0].request.url.path == "/v1/chat/completions"


async def test_an_answer_waits_where_it_is_told_to() -> None:
    gate, wire = anyio.Event(), UpstreamAnswer(text="Hi", usage=None).sse()
    end = wire.rindex(b"data: {")
    client = Client(Assembly([Straight]).gateway(Upstream(lambda _: [wire[:end], gate, wire[end:]])))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.ask(stream=True))
        with anyio.fail_after(5):
            await client.has(b'"Hi')
        assert b"message_stop" not in client.body
        gate.set()
    assert b"message_stop" in client.body
