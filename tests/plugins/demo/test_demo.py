"""The plugin itself: plugins/demo/__init__.py."""

from typing import Any

import anyio
import attrs
import httpx
import pytest

from core import (
    Candidate,
    Message,
    Request,
    Route,
    Stop,
    Text,
    TextBlock,
    Thinking,
    ThinkingConfig,
    UpstreamError,
    Usage,
)
from core.chat import UpstreamClient
from core.config import BackendConfig
from plugins.demo import Demo, DemoCall

pytestmark = pytest.mark.anyio

ROUTE = Route((Candidate("demo", "demo"),))


def demo_call(request: Request, *, delay: float = 0.0, **table: Any) -> DemoCall:
    """The plugin's call for a backend with this table."""
    transport = httpx.MockTransport(lambda _: pytest.fail("the demo sends nothing"))
    client = UpstreamClient(BackendConfig("demo", ("demo",), **table), transport)
    return Demo(delay).call_upstream(request, ROUTE, client)


def asking(text: str = "Count to 5.", **fields: Any) -> Request:
    return Request("message", "demo", (Message("user", (TextBlock(text),)),), **fields)


async def chunks_of(call: DemoCall) -> list[dict[str, Any]]:
    async with call as lists:
        return [chunk async for chunks in lists for chunk in chunks]


async def folded(request: Request, **changes: Any) -> tuple[str, str, Any, Any]:
    """The thinking, the text, the usage and the stop of an answer."""
    demo = Demo()
    content, stop = demo.translate_content(), demo.translate_stop(request)
    deltas: list[Any] = []
    for chunk in await chunks_of(attrs.evolve(demo_call(request), **changes)):
        deltas += stop.feed(chunk, content.feed(chunk))
    deltas += [*stop.feed({}, content.flush()), *stop.flush()]
    thinking = "".join(delta.text for delta in deltas if isinstance(delta, Thinking))
    text = "".join(delta.text for delta in deltas if isinstance(delta, Text))
    usage = [delta for delta in deltas if isinstance(delta, Usage)][-1]
    return thinking, text, usage, deltas[-1]


@pytest.mark.parametrize("upstream_streams", [True, False, None])
@pytest.mark.parametrize("client_streams", [True, False])
async def test_an_answer(client_streams: bool, upstream_streams: bool | None) -> None:
    thinking, text, usage, stop = await folded(asking(stream=client_streams), stream=upstream_streams)
    assert (thinking, text) == ("The user wants the numbers from 1 to 5.", "1, 2, 3, 4, 5")
    assert (usage.input_tokens, usage.output_tokens) == (10, 19)
    assert stop == Stop("end_turn")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_stop_sequence_is_reported(stream: bool) -> None:
    _, text, _, stop = await folded(asking(stream=stream, stop_sequences=("9", "4")))
    assert (text, stop) == ("1, 2, 3, ", Stop("stop_sequence", "4"))


async def test_max_tokens() -> None:
    assert (await folded(asking(max_tokens=3)))[3] == Stop("max_tokens")


async def test_thinking_can_be_switched_off() -> None:
    thinking, text, *_ = await folded(asking(thinking=ThinkingConfig("disabled")))
    assert (thinking, text) == ("", "1, 2, 3, 4, 5")


async def test_count_tokens_gives_only_the_usage() -> None:
    (chunk,) = await chunks_of(demo_call(attrs.evolve(asking(), task="count_tokens")))
    assert chunk["choices"] == []
    assert chunk["usage"]["prompt_tokens"] == 10


async def test_a_refusal_is_an_upstream_error() -> None:
    with pytest.raises(UpstreamError, match="max_tokens") as caught:
        await chunks_of(demo_call(asking(), extra_body={"max_tokens": 0}))
    assert (caught.value.kind, caught.value.status) == ("invalid_request", 400)


async def test_the_table_of_the_backend_counts() -> None:
    chunks = await chunks_of(demo_call(asking(), stream="always", extra_body={"max_tokens": 2}))
    assert len(chunks) > 2
    assert chunks[-1]["usage"]["completion_tokens"] == 2


async def test_a_long_answer_lets_others_run() -> None:
    turns: list[str] = []

    async def other() -> None:
        for _ in range(3):
            turns.append("other")
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks, demo_call(asking(stream=True)) as lists:
        tasks.start_soon(other)
        turns.extend(["demo" async for _ in lists])
    assert turns[0] == "other"


async def test_the_delay_comes_before_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    chunks = await chunks_of(demo_call(asking(stream=True), delay=0.5))
    assert slept == [0.5] * (len(chunks) + 1)
