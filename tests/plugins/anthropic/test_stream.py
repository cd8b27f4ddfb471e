from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Delta, GatewayError, State, Stop, Text, TextBlock, Thinking, ThinkingConfig, ToolChoice, ToolUse, Usage
from core.deltas import StopReason
from plugins.anthropic.message import MessageAnswer
from plugins.anthropic.stream import StreamAnswer
from tests.plugins.anthropic.folding import HTTP, REQUEST, SEAL, Folder, events, fold

OMITTED = attrs.evolve(REQUEST, thinking=ThinkingConfig("adaptive", display="omitted"))
END = Stop("end_turn")
CALL = ToolUse(0, id="a", name="f")


def new(**request: Any) -> StreamAnswer:
    return StreamAnswer(HTTP, attrs.evolve(REQUEST, **request), seal=SEAL)


def types(data: bytes) -> list[str]:
    return [event["type"] for event in events(data)]


def stream(*deltas: Delta) -> list[dict[str, Any]]:
    answer = new()
    return events(answer.feed(deltas) + answer.finish())


def test_a_plain_stream_event_by_event() -> None:
    first, *rest = stream(Text("Hel"), Text("lo"), Usage(11, 3), END)
    assert first["message"].pop("id").startswith("msg_")
    assert first == {
        "type": "message_start",
        "message": {
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": "the-model",
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 0},
        },
    }
    assert rest == [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": 11, "output_tokens": 3},
        },
        {"type": "message_stop"},
    ]


def test_the_headers_let_no_proxy_hold_the_stream_back() -> None:
    assert dict(new().headers) == {
        b"content-type": b"text/event-stream; charset=utf-8",
        b"cache-control": b"no-cache",
        b"x-accel-buffering": b"no",
        b"request-id": b"req_1",
    }


@pytest.mark.parametrize("deltas", [[], [Usage(7, 1)], [END], [Usage(7, 1), END]])
def test_nothing_to_show_is_nothing_to_send(deltas: list[Delta]) -> None:
    assert new().feed(deltas) == b""


def test_a_usage_known_early_is_in_the_start() -> None:
    answer = new()
    answer.feed([Usage(7, 5)])
    (start, *_) = events(answer.feed([Text("x")]))
    assert start["message"]["usage"] == {"input_tokens": 7, "output_tokens": 0}


def test_until_it_is_known_the_prompt_is_estimated() -> None:
    answer = new(system=(TextBlock("x" * 400),))
    (start, *_) = events(answer.feed([Text("x")]))
    assert 100 <= start["message"]["usage"]["input_tokens"] <= 110
    answer.feed([Usage(7, 5), END])
    assert events(answer.finish())[-2]["usage"] == {"input_tokens": 7, "output_tokens": 5}


def test_a_state_before_a_call_has_an_empty_block_of_its_own() -> None:
    state = State({"details": [1]}, {"a": {"extra": "x"}})
    start, block, signature, stop, call, *_ = stream(state, CALL, Stop("tool_use"))
    assert start["type"] == "message_start"
    assert block["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert signature["delta"] == {"type": "signature_delta", "signature": SEAL.close("", state)}
    assert (stop["type"], call["content_block"]["type"]) == ("content_block_stop", "tool_use")


def test_a_state_alone_is_not_yet_sent() -> None:
    answer = new()
    assert answer.feed([State({"a": 1})]) == b""
    assert fold(answer.feed([END]) + answer.finish())["content"][0]["type"] == "thinking"


def test_a_second_call_is_kept_back_from_who_wants_one() -> None:
    answer = new(tool_choice=ToolChoice(parallel=False))
    calls: list[Delta] = [
        CALL,
        ToolUse(0, "{}"),
        ToolUse(1, "", "b", "g"),
        ToolUse(1, '{"x":1}'),
        Text("so"),
        Stop("tool_use"),
    ]
    message = fold(answer.feed(calls) + answer.finish())
    assert [block["type"] for block in message["content"]] == ["tool_use", "text"]
    assert message["stop_reason"] == "tool_use"


def test_cache_counts_in_both_places() -> None:
    answer = StreamAnswer(HTTP, REQUEST, seal=SEAL, cache_usage=True)
    first, *_, delta, _ = events(answer.feed([Usage(10, 2, 3, 4), Text("x"), END]) + answer.finish())
    counts = {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 3}
    assert first["message"]["usage"] == counts | {"output_tokens": 0}
    assert delta["usage"] == counts | {"output_tokens": 2}


def test_an_answer_without_content_is_still_a_message() -> None:
    assert [event["type"] for event in stream(END)] == ["message_start", "message_delta", "message_stop"]


def test_thinking_closes_with_its_signature() -> None:
    found = stream(Thinking("a"), Thinking("b"), Text("c"), END)
    assert [event.get("delta", {}).get("type") for event in found[2:5]] == [
        "thinking_delta",
        "thinking_delta",
        "signature_delta",
    ]
    assert found[1]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert found[4]["delta"]["signature"] == SEAL.close("ab")
    assert found[5] == {"type": "content_block_stop", "index": 0}
    assert found[6]["index"] == 1


def test_omitted_thinking_is_a_block_that_says_nothing() -> None:
    answer = StreamAnswer(HTTP, OMITTED, seal=SEAL)
    data = answer.feed([Thinking("secret"), Thinking(" plan"), Text("x"), END]) + answer.finish()
    assert b"secret" not in data
    assert fold(data)["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": SEAL.close("secret plan", keep_text=True),
    }


def test_a_call_starts_at_once_and_its_arguments_follow() -> None:
    answer = new()
    start, block = events(answer.feed([CALL]))
    assert start["type"] == "message_start"
    assert block["content_block"] == {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    (delta,) = events(answer.feed([ToolUse(0, '{"x"')]))
    assert delta["delta"] == {"type": "input_json_delta", "partial_json": '{"x"'}


def test_arguments_in_the_first_piece_are_not_in_the_start() -> None:
    _, start, delta, *_ = stream(ToolUse(0, '{"x":1}', "a", "f"), Stop("tool_use"))
    assert start["content_block"]["input"] == {}
    assert delta["delta"]["partial_json"] == '{"x":1}'


def test_a_call_without_arguments_gets_an_empty_object() -> None:
    answer = new()
    data = answer.feed([CALL, ToolUse(1, "", "b", "g"), Stop("tool_use")]) + answer.finish()
    assert data.count(b'"partial_json":"{}"') == 2
    assert [block["input"] for block in fold(data)["content"]] == [{}, {}]


def test_ping_starts_the_message_once() -> None:
    answer = new()
    assert types(answer.ping()) == ["message_start", "ping"]
    assert types(answer.ping()) == ["ping"]
    assert types(answer.feed([Text("x")])) == ["content_block_start", "content_block_delta"]


def test_a_failure_before_anything_was_sent_is_an_http_error() -> None:
    answer = new()
    answer.feed([Usage(1, 1)])
    body = orjson.loads(answer.fail(GatewayError("slow down", kind="rate_limit", retry_after=3)))
    assert body["error"] == {"type": "rate_limit_error", "message": "slow down"}
    assert answer.status == 429
    assert dict(answer.headers)[b"content-type"] == b"application/json"
    assert dict(answer.headers)[b"retry-after"] == b"3"


@pytest.mark.parametrize(
    ("deltas", "closing"),
    [
        ([Text("x")], ["content_block_stop"]),
        ([Thinking("x")], ["content_block_delta", "content_block_stop"]),
        ([CALL], ["content_block_stop"]),
        ([CALL, ToolUse(0, '{"a":')], ["content_block_stop"]),
    ],
)
def test_a_failure_after_the_start_closes_the_block_and_is_the_last_event(
    deltas: list[Delta], closing: list[str]
) -> None:
    answer = new()
    sent = answer.feed(deltas)
    last = answer.fail(GatewayError("it fell over"))
    assert types(last) == [*closing, "error"]
    assert answer.status == 200
    folder = Folder()
    for event in events(sent + last):
        folder.take(event)
    assert folder.error == {
        "type": "error",
        "error": {"type": "api_error", "message": "it fell over"},
        "request_id": "req_1",
    }


def test_a_failure_after_a_ping_is_an_event() -> None:
    answer = new()
    answer.ping()
    assert types(answer.fail(GatewayError("x"))) == ["error"]


def test_no_stop_no_end() -> None:
    answer = new()
    answer.feed([Text("x")])
    with pytest.raises(RuntimeError, match="without a Stop"):
        answer.finish()


def test_a_piece_of_no_call_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no id"):
        new().feed([ToolUse(0, "{}")])


def test_text_that_could_break_the_framing() -> None:
    text = "a\n\nevent: x\r\ndata: {}\u2028\x00"
    answer = new()
    assert fold(answer.feed([Text(text), END]) + answer.finish())["content"][0]["text"] == text


def test_a_lone_surrogate_is_replaced() -> None:
    answer = new()
    data = (
        answer.feed([Text("\ud800"), Thinking("\ud800"), ToolUse(0, "\ud800", "i\ud800", "f"), END]) + answer.finish()
    )
    assert fold(data)["content"][0]["text"] == "\ufffd"


arguments = st.one_of(st.text(), st.dictionaries(st.text(), st.integers() | st.text()).map(json.dumps))


@st.composite
def calls(draw: st.DrawFn) -> list[Delta]:
    """The pieces of one call, cut anywhere."""
    text = draw(arguments)
    cut = draw(st.integers(0, len(text)))
    first = draw(st.sampled_from(["", text[:cut]]))
    rest = text[len(first) :]
    name = draw(st.text(min_size=1, max_size=4))
    return [ToolUse(0, first, f"id_{name}", name), *([ToolUse(0, rest)] if rest else [])]


groups = st.one_of(
    st.text(min_size=1).map(lambda text: [Text(text)]),
    st.text(min_size=1).map(lambda text: [Thinking(text)]),
    st.builds(State, st.dictionaries(st.text(), st.lists(st.text()))).map(lambda state: [state]),
    st.builds(Usage, *[st.integers(0, 99)] * 4).map(lambda usage: [usage]),
    calls(),
)
answers = st.lists(groups).map(lambda found: [delta for group in found for delta in group])
reasons: list[StopReason] = ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"]
stops = st.builds(Stop, st.sampled_from(reasons), st.none() | st.text())


def cut(deltas: Sequence[Delta], places: set[int]) -> list[Sequence[Delta]]:
    edges = [0, *sorted(place for place in places if place <= len(deltas)), len(deltas)]
    return [deltas[start:end] for start, end in pairwise(edges)]


@settings(derandomize=True, deadline=None)
@given(answers, stops, st.sets(st.integers(0, 20)), st.booleans(), st.booleans(), st.booleans())
def test_the_folded_stream_is_the_message(
    deltas: list[Delta], stop: Stop, places: set[int], omit: bool, one_call: bool, cache_usage: bool
) -> None:
    request = attrs.evolve(OMITTED if omit else REQUEST, tool_choice=ToolChoice(parallel=not one_call))
    whole = MessageAnswer(HTTP, request, seal=SEAL, cache_usage=cache_usage)
    whole.feed([*deltas, stop])
    message = orjson.loads(whole.finish())
    answer = StreamAnswer(HTTP, request, seal=SEAL, cache_usage=cache_usage)
    data = b"".join(answer.feed(part) for part in cut([*deltas, stop], places)) + answer.finish()
    folded = fold(data)
    assert folded.pop("id") != message.pop("id")
    assert folded == message
