"""The plugin itself: plugins/embedded/__init__.py."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from structlog.testing import capture_logs

import plugins.embedded as module
from core import Candidate, ConfigError, Message, Request, Route, Stop, Text, TextBlock, UpstreamError
from core.chat import UpstreamClient
from core.config import BackendConfig
from core.testing import MockUpstream, UpstreamAnswer
from plugins.embedded import Embedded
from plugins.embedded.engine import Options
from plugins.embedded.link import Link
from plugins.embedded.parts import MissingError

pytestmark = pytest.mark.anyio

ROUTE = Route((Candidate("embedded", "small"),))
REQUEST = Request("message", "m", (Message("user", (TextBlock("Hi"),)),), stop_sequences=("x",))
BACKEND = BackendConfig("embedded", ("embedded",))


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands in for the engine: `address` is where calls are sent, `options` what it was started with."""
    seen: dict[str, Any] = {}

    @asynccontextmanager
    async def run(_: Link, options: Options) -> AsyncIterator[None]:
        seen["options"] = options
        yield

    async def url(_: Link, within: float) -> str:
        seen["within"] = within
        return str(seen["address"])

    monkeypatch.setattr(Link, "run", run)
    monkeypatch.setattr(Link, "url", url)
    monkeypatch.setattr(module, "need_server", lambda: None)
    monkeypatch.setattr(module, "find_model", lambda path: f"/models/{path}")
    return seen


async def test_the_options_reach_the_engine(linked: dict[str, Any]) -> None:
    async with Embedded(model="m", context=0, slots=3, threads=0, reasoning="none").lifespan():
        assert linked["options"] == Options("/models/m", 0, 3, 0, "none")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_goes_to_the_engine_when_it_is_ready(linked: dict[str, Any], stream: bool) -> None:
    plugin = Embedded(start_timeout=5)
    client = UpstreamClient(BACKEND)
    async with MockUpstream(UpstreamAnswer(text="Hello")) as upstream:
        linked["address"] = upstream.url
        call = attrs.evolve(plugin.call_upstream(REQUEST, ROUTE, client), stream=stream)
        content, stop = plugin.translate_content(REQUEST), plugin.translate_stop(REQUEST)
        deltas: list[Any] = []
        async with call as lists:
            async for chunks in lists:
                for chunk in chunks:
                    deltas += stop.feed(chunk, content.feed(chunk))
        deltas += stop.flush()
        await client.aclose()
    sent = orjson.loads(upstream.exchanges[0].body)
    assert (sent["model"], sent["stream"], sent["verbose"], sent["stop"]) == ("small", stream, True, ["x"])
    assert "".join(delta.text for delta in deltas if isinstance(delta, Text)) == "Hello"
    assert deltas[-1] == Stop("end_turn")
    assert linked["within"] == 5


async def test_the_word_that_stopped_it_is_reported() -> None:
    stop = Embedded().translate_stop(REQUEST)
    verbose = {"stop_type": "word", "stopping_word": "x"}
    stop.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "__verbose": verbose}, [])
    assert list(stop.flush()) == [Stop("stop_sequence", "x")]


@pytest.mark.parametrize("part", ["need_server", "find_model"])
async def test_what_is_missing_stops_no_gateway(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    def missing(*_: str) -> str:
        raise MissingError("install it with: pip install something", "the place")

    monkeypatch.setattr(module, "need_server", lambda: None)
    monkeypatch.setattr(module, part, missing)
    plugin = Embedded()
    with capture_logs() as logs:
        async with plugin.lifespan():
            with pytest.raises(UpstreamError, match="pip install something"):
                await plugin.call_upstream(REQUEST, ROUTE, UpstreamClient(BACKEND)).__aenter__()
    assert [log["reason"] for log in logs] == ["the place"]


@pytest.mark.parametrize("option", [{"context": -1}, {"slots": 0}, {"threads": -1}, {"start_timeout": 0}])
def test_options_out_of_range_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        Embedded(**option)


def test_a_model_file_that_is_named_and_not_there_stops_the_start(tmp_path: Path) -> None:
    Embedded().check()
    (tmp_path / "yes.gguf").touch()
    Embedded(model=str(tmp_path / "yes.gguf")).check()
    with pytest.raises(ConfigError, match=r"^key 'model': no file .*nope\.gguf$"):
        Embedded(model=str(tmp_path / "nope.gguf")).check()


@pytest.mark.parametrize(("kind", "text"), [("chat.completion", " two"), ("chat.completion.chunk", "One, two")])
def test_whole_answers_repeat_a_prefill_and_streams_do_not(kind: str, text: str) -> None:
    turns = (*REQUEST.messages, Message("assistant", (TextBlock("One,"),)))
    content = Embedded().translate_content(attrs.evolve(REQUEST, messages=turns))
    chunk = {"object": kind, "choices": [{"index": 0, "delta": {"content": "One, two"}}]}
    assert list(content.feed(chunk)) == [Text(text)]
