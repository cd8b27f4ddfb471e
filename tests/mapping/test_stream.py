"""Events of a stream, one after another."""

from __future__ import annotations

from typing import Any

import pytest

from core.testing import Framing, UpstreamAnswer, UpstreamToolCall, replay
from tests.mapping.wire import ASK, F, Wire

FRAMINGS = [
    Framing(),
    Framing(eol="\r\n"),
    Framing(space=False),
    Framing(comment="OPENROUTER PROCESSING"),
    Framing(done=False),
    Framing(blank_lines=2),
]


def types(events: list[dict[str, Any]]) -> list[str]:
    """The types of the events, equal neighbours once."""
    found = [event["type"] for event in events]
    return [kind for kind, before in zip(found, ["", *found], strict=False) if kind != before]


def test_order(wire: Wire) -> None:
    answer = UpstreamAnswer(text="A", reasoning="hm", tool_calls=(UpstreamToolCall("f"),), finish_reason="tool_calls")
    events = wire.events(answer, tools=[F])
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert types(events) == ["message_start", *block * 3, "message_delta", "message_stop"]
    starts = [event for event in events if event["type"] == "content_block_start"]
    assert [event["index"] for event in starts] == [0, 1, 2]
    assert [event["content_block"] for event in starts] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "call_1", "name": "f", "input": {}},
    ]


def test_message_start(wire: Wire) -> None:
    message = wire.events(UpstreamAnswer())[0]["message"]
    assert message["id"].startswith("msg_")
    assert (message["model"], message["content"]) == ("client-model", [])
    assert (message["stop_reason"], message["stop_sequence"]) == (None, None)
    assert message["usage"]["input_tokens"] > 0


def test_signature(wire: Wire) -> None:
    events = wire.events(UpstreamAnswer(text="A", reasoning="hm"))
    first = [event["delta"] for event in events if event.get("index") == 0 and "delta" in event]
    assert [delta["type"] for delta in first] == ["thinking_delta", "signature_delta"]
    assert first[-1]["signature"]


@pytest.mark.parametrize("arguments", ["", "{}"])
def test_empty_arguments(wire: Wire, arguments: str) -> None:
    answer = UpstreamAnswer(text=None, tool_calls=(UpstreamToolCall("f", arguments),), finish_reason="tool_calls")
    pieces = [
        event["delta"]["partial_json"]
        for event in wire.events(answer, tools=[F])
        if "index" in event and "delta" in event
    ]
    assert "".join(pieces) == "{}"


def test_arguments_that_are_cut(wire: Wire) -> None:
    answer = UpstreamAnswer(text=None, tool_calls=(UpstreamToolCall("f", '{"x": "ab'),), finish_reason="length")
    events = wire.events(answer, tools=[F])
    pieces = [event["delta"]["partial_json"] for event in events if "index" in event and "delta" in event]
    assert "".join(pieces) == '{"x": "ab'
    assert events[-2]["delta"] == {"stop_reason": "max_tokens", "stop_sequence": None}


def test_text_behind_a_call(wire: Wire) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
    deltas: list[dict[str, Any]] = [{"content": "A"}, {"tool_calls": [call]}, {"content": "B"}, {"reasoning": "hm"}]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    message = wire.answer(Framing().stream([*chunks, finish]), tools=[F])
    assert [block["type"] for block in message["content"]] == ["text", "tool_use", "text", "thinking"]
    assert message["stop_reason"] == "tool_use"


def test_usage_at_the_end(wire: Wire) -> None:
    *_, last, end = wire.events(UpstreamAnswer(usage={"prompt_tokens": 30, "completion_tokens": 4}))
    assert last["type"] == "message_delta"
    assert last["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert last["usage"] == {"input_tokens": 30, "output_tokens": 4}
    assert end == {"type": "message_stop"}


@pytest.mark.parametrize("framing", FRAMINGS)
def test_framing(wire: Wire, framing: Framing) -> None:
    message = wire.answer(UpstreamAnswer(text="naïve 日本 🙂", framing=framing))
    assert message["content"] == [{"type": "text", "text": "naïve 日本 🙂"}]


def test_chunks_that_say_nothing(wire: Wire) -> None:
    quiet: list[dict[str, Any]] = [
        {"id": "", "choices": [], "prompt_filter_results": []},
        {"choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}}]},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None, "tool_calls": None}}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [], "prompt_progress": {"total": 9}},
    ]
    text = {"choices": [{"index": 0, "delta": {"content": "A"}}]}
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    message = wire.answer(Framing().stream([*quiet, text, *quiet, finish, *quiet]), "azure")
    assert message["content"] == [{"type": "text", "text": "A"}]


def test_error_in_the_middle(wire: Wire) -> None:
    broken = UpstreamAnswer(text="A", error={"message": "out of memory", "type": "server_error"})
    events = wire.events(broken)
    assert types(events)[-1] == "error"
    assert events[-1]["error"] == {"type": "api_error", "message": "out of memory"}
    assert "message_stop" not in types(events)
    assert [event["delta"]["text"] for event in events if "delta" in event] == ["A"]


def test_end_without_a_finish_reason(wire: Wire) -> None:
    whole = UpstreamAnswer(text="A", finish_reason=None, usage=None, framing=Framing(done=False))
    events = wire.events(whole)
    assert events[-1]["error"] == {"type": "api_error", "message": "the upstream's answer broke off before its end"}
    reply = replay(["openai"], [whole.sse()], request=ASK)
    assert (reply.status, reply.error) == (502, events[-1]["error"])


def test_error_before_the_first_byte(wire: Wire) -> None:
    for stream in (False, True):
        reply = replay(["openai"], [b'data: {"error":{"message":"full","code":503}}\n\n'], request=ASK, stream=stream)
        assert (reply.status, reply.headers["content-type"]) == (529, "application/json")
        assert reply.error == {"type": "overloaded_error", "message": "full"}


def test_headers(wire: Wire) -> None:
    got = wire.ask("/v1/messages", {**ASK, "stream": True})
    assert got.headers == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "request-id": "req_1",
        "x-hookline-backend": "upstream",
    }
