from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import ConfigError, Request, Route, hookimpl
from core.chat import Call, Chunk, Content, Dialect, FinishReason, UpstreamClient
from core.testing import Assembly, Reply, UpstreamAnswer, UpstreamToolCall, assert_split_invariant, replay, strategies
from tests.mapping.wire import BACKENDS, F
from tests.plugins.stop_scan.test_matcher import naive

REPORTING = ("vllm", "sglang", "tensorrt_llm", "llama_cpp")
SCANNING = tuple(name for name in BACKENDS if name not in REPORTING)
STOPS = ["END", "###", "\n\nHuman:", "s t o p", "😀"]
EVERYTHING = {"stop_scan": {"scopes": ["everything"]}}


def ask(*plugins: Any, answer: UpstreamAnswer | None = None, options: Any = None, **request: Any) -> Reply:
    """One request to a backend that streams as it is asked to."""
    wire = (answer or UpstreamAnswer()).wire(stream=True)
    return replay(plugins, [wire], request={"stop_sequences": STOPS, **request}, options=options)


def end(reply: Reply) -> tuple[Any, Any]:
    return reply.message["stop_reason"], reply.message["stop_sequence"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_on_every_engine_the_text_is_cut_however_it_comes(backend: str) -> None:
    answer = UpstreamAnswer(text="one ## two\n\nHum s t o p three END", reasoning="the END", finish_reason="length")
    plugins = [backend] if backend in SCANNING else [backend, "stop_scan"]
    replies = assert_split_invariant(plugins, answer, request={"stop_sequences": STOPS}, cuts=[(9, 170, 400)])
    for reply in replies.values():
        assert reply.message["content"][-1] == {"type": "text", "text": "one ## two\n\nHum "}
        assert end(reply) == ("stop_sequence", "s t o p")
        assert all(0 < count < 40 for count in reply.message["usage"].values())
        assert "stop" not in reply.sent


@pytest.mark.parametrize("backend", SCANNING)
@pytest.mark.parametrize("stream", [True, False])
def test_the_upstream_streams_so_that_it_can_be_stopped(backend: str, stream: bool) -> None:
    wire = UpstreamAnswer(text="a END b").wire(stream=True)
    assert replay([backend], [wire], request={"stop_sequences": STOPS}, stream=stream).sent["stream"] is True
    assert replay([backend], [wire], stream=stream).sent["stream"] is stream


def test_the_upstream_is_left_at_the_match() -> None:
    wire = UpstreamAnswer(text="a END b", shape=attrs.evolve(UpstreamAnswer().shape, piece=1)).wire(stream=True)
    seen = wire.index(b'"D"') + 200
    reply = replay(
        ["openai"], [wire[:seen]], fails=OSError("read on after the match"), request={"stop_sequences": STOPS}
    )
    assert (reply.error, reply.closed, end(reply)) == (None, True, ("stop_sequence", "END"))


def test_more_stops_than_the_engine_takes_are_no_fault() -> None:
    many = [f"<{number}>" for number in range(64)]
    for plugins in (["openai"], ["vllm", "stop_scan"]):
        reply = ask(*plugins, answer=UpstreamAnswer(text="a <6> <63> b"), stop_sequences=many)
        assert (reply.message["content"][0]["text"], end(reply)) == ("a ", ("stop_sequence", "<6>"))


@pytest.mark.parametrize(
    ("plugins", "options", "request_", "sent"),
    [
        (["tgi"], None, {"stop_sequences": ["END"]}, ["END"]),
        (["tgi"], None, {"stop_sequences": ["END"], "tools": [F]}, None),
        (["tgi"], None, {"stop_sequences": ["END", "x"]}, None),
        (["tgi", "think_tags"], None, {"stop_sequences": ["END"]}, None),
        (
            ["tgi", "think_tags"],
            {"stop_scan": {"scopes": ["text", "thinking"]}},
            {"stop_sequences": ["END"]},
            ["END"],
        ),
        (["tgi"], {"stop_scan": {"upstream": "never"}}, {"stop_sequences": ["END"]}, None),
        (["vllm", "stop_scan"], None, {}, None),
        (["vllm", "stop_scan"], EVERYTHING, {"stop_sequences": ["END"]}, ["END"]),
        (["vllm", "stop_scan"], EVERYTHING, {}, None),
        (["vllm", "stop_scan"], {"stop_scan": {"scopes": ["text", "thinking"]}}, {"stop_sequences": ["a"]}, ["a"]),
        (
            ["vllm", "stop_scan"],
            {"stop_scan": {"scopes": ["text", "thinking"]}},
            {"stop_sequences": ["a"], "tools": [F]},
            None,
        ),
        (["llama_cpp", "stop_scan"], EVERYTHING, {}, STOPS),
        (["openai"], EVERYTHING, {"stop_sequences": ["END"]}, None),
    ],
)
def test_what_goes_upstream(plugins: list[str], options: Any, request_: dict[str, Any], sent: list[str] | None) -> None:
    reply = ask(*plugins, options=options, **request_)
    assert reply.sent.get("stop") == sent
    assert reply.sent["stream"] is (sent is None)


@pytest.mark.parametrize("taken", ["halt", "stop"])
def test_the_engine_s_own_field_is_the_one_that_must_be_taken(taken: str) -> None:
    table = {"stop_field": "halt", "allowed_fields": [taken, "stream", "max_tokens"]}
    plugins = Assembly(["vllm", "stop_scan"], EVERYTHING, table)
    sent = replay(plugins, [UpstreamAnswer().json()], request={"stop_sequences": ["END"]}).sent
    assert (sent.get("halt"), "stop" in sent) == (["END"] if taken == "halt" else None, False)


def test_an_engine_that_stops_by_itself_is_believed() -> None:
    answer = UpstreamAnswer(text="a ", choice={"stop_reason": "END"})
    reply = ask("vllm", "stop_scan", answer=answer, options=EVERYTHING, stop_sequences=["END"])
    assert end(reply) == ("stop_sequence", "END")
    assert end(ask("tgi", answer=UpstreamAnswer(finish_reason="stop_sequence"), stop_sequences=["END"])) == end(reply)


def test_scopes() -> None:
    answer = UpstreamAnswer(text="b END", reasoning="a END", tool_calls=(UpstreamToolCall("f", '{"x": "c END"}'),))
    text = [{"type": "text", "text": "b "}]
    assert ask("openai", answer=answer).message["content"][1:] == text
    thinking = ask("openai", answer=answer, options=EVERYTHING).message["content"]
    assert [block["thinking"] for block in thinking] == ["a "]
    tools = ask("openai", answer=answer, options={"stop_scan": {"scopes": ["tools"]}}, tools=[F])
    assert [block["type"] for block in tools.message["content"]] == ["thinking", "text", "tool_use"]
    assert end(tools) == ("stop_sequence", "END")


@pytest.mark.parametrize(
    ("table", "said"),
    [({"scopes": []}, "scopes"), ({"scopes": ["all"]}, "'everything'"), ({"upstream": "x"}, "'never'")],
)
def test_faulty_options(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Assembly(["openai"], {"stop_scan": table})


def test_it_can_be_taken_away() -> None:
    @attrs.frozen(eq=False)
    class Bare:
        @hookimpl
        def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:
            return Call(request, route, client, Dialect(), stream=False)

        @hookimpl
        def translate_content(self) -> Content:
            return Content()

        @hookimpl
        def translate_stop(self) -> FinishReason:
            return FinishReason()

    assert ask(Bare, stop_sequences=["END"]).sent["stop"] == ["END"]
    # A backend that cannot stream is not made to.
    assert ask(Bare, "stop_scan").sent["stream"] is False


def test_a_call_of_a_foreign_kind_is_left_alone() -> None:
    chunks: list[Chunk] = [{"choices": [{"delta": {"content": "a END"}, "finish_reason": "stop"}]}]

    async def batches() -> AsyncIterator[list[Chunk]]:
        yield chunks

    @attrs.frozen(eq=False)
    class Foreign:
        @hookimpl
        def call_upstream(self) -> AbstractAsyncContextManager[AsyncIterator[list[Chunk]]]:
            return nullcontext(batches())

        @hookimpl
        def translate_content(self) -> Content:
            return Content()

        @hookimpl
        def translate_stop(self) -> FinishReason:
            return FinishReason()

    assert end(ask(Foreign, "stop_scan")) == ("stop_sequence", "END")


def test_counting_tokens_knows_no_stops() -> None:
    assert "stop" not in json.dumps(ask("openai", "stop_scan", stop_sequences=[]).sent)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    text=st.text("abcE ND#\n😀", max_size=30),
    stops=st.lists(st.text("abcEND#😀", min_size=1, max_size=4), min_size=1, max_size=8),
    shape=strategies.shapes(),
    cuts=st.lists(strategies.cuts(), min_size=1, max_size=2),
)
def test_it_is_the_naive_cut_however_it_comes(text: str, stops: list[str], shape: Any, cuts: Any) -> None:
    answer = UpstreamAnswer(text=text, shape=attrs.evolve(shape, halves=False))
    kept, found = naive(text, stops)
    for reply in assert_split_invariant(["ollama"], answer, request={"stop_sequences": stops}, cuts=cuts).values():
        assert "".join(block["text"] for block in reply.message["content"]) == kept
        assert end(reply) == (("stop_sequence", found) if found else ("end_turn", None))


def test_a_stream_that_breaks_off_gives_what_was_held() -> None:
    wire = UpstreamAnswer(text="a EN", error={"message": "broke"}).wire(stream=True)
    reply = replay(["openai"], [wire], request={"stop_sequences": STOPS}, stream=True)
    assert reply.error is not None
    assert reply.message["content"] == [{"type": "text", "text": "a EN"}]
