from __future__ import annotations

import json
from typing import Any

import pytest

from core.testing import fold, fold_json

Event = dict[str, Any]
USAGE = {"input_tokens": 3, "output_tokens": 1}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": USAGE,
}
START: Event = {"type": "message_start", "message": MESSAGE}
END: Event = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 9},
}
STOP: Event = {"type": "message_stop"}
PING: Event = {"type": "ping"}
ERROR: Event = {"type": "error", "error": {"type": "api_error", "message": "broke"}}
TEXT: Event = {"type": "text", "text": ""}
THINKING: Event = {"type": "thinking", "thinking": "", "signature": ""}
TOOL: Event = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}


def begin(index: int, block: Event) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **value: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **value}}


def close(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def wire(*events: Event) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def text(index: int, *pieces: str) -> list[Event]:
    return [begin(index, TEXT), *(delta(index, "text_delta", text=piece) for piece in pieces), close(index)]


def tool(index: int, *pieces: str) -> list[Event]:
    inner = [delta(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [begin(index, TOOL), *inner, close(index)]


def ended(reason: str, sequence: str | None = None) -> Event:
    return {**END, "delta": {"stop_reason": reason, "stop_sequence": sequence}}


def test_a_whole_stream() -> None:
    thought = [
        begin(0, THINKING),
        delta(0, "thinking_delta", thinking="hm "),
        delta(0, "thinking_delta", thinking="so"),
        delta(0, "signature_delta", signature="s"),
        close(0),
    ]
    events = [START, PING, *thought, *text(1, "a\u2028", "\n\nb"), *tool(2, "", '{"x":', "1}"), ended("tool_use"), STOP]
    folded = fold(wire(*events))
    assert folded.error is None
    assert folded.message["content"] == [
        {"type": "thinking", "thinking": "hm so", "signature": "s"},
        {"type": "text", "text": "a\u2028\n\nb"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
    ]
    assert folded.message["stop_reason"] == "tool_use"
    assert folded.message["usage"] == {"input_tokens": 3, "output_tokens": 9}


def test_an_error_ends_a_stream_wherever_it_comes() -> None:
    half = text(0, "so far")[:-1]
    folded = fold(wire(START, *half, ERROR))
    assert folded.error == {"type": "api_error", "message": "broke"}
    assert folded.message["content"] == [{"type": "text", "text": "so far"}]
    assert folded.message["stop_reason"] is None
    open_call = tool(0, '{"a"')[:-1]
    assert fold(wire(START, *open_call, ERROR)).message["content"][0]["input"] == {"unparsed_arguments": '{"a"'}


@pytest.mark.parametrize("arguments", ["[1]", '"x"', "null", "{", "nope", '{"a": NaN}'])
def test_arguments_that_are_no_object_are_kept_raw(arguments: str) -> None:
    folded = fold(wire(START, *tool(0, arguments), ended("tool_use"), STOP))
    assert folded.message["content"][0]["input"] == {"unparsed_arguments": arguments}


def test_absent_arguments_are_an_empty_object() -> None:
    assert fold(wire(START, *tool(0), ended("tool_use"), STOP)).message["content"][0]["input"] == {}


BREACHES: list[tuple[str, list[Event]]] = [
    ("message_start must come first", [PING, START, END, STOP]),
    ("message_start must come first", [START, START, END, STOP]),
    ("content must be []", [{**START, "message": {**MESSAGE, "content": [TEXT]}}, END, STOP]),
    ("stop_reason must be null", [{**START, "message": {**MESSAGE, "stop_reason": "end_turn"}}, END, STOP]),
    ("has no stop_sequence", [{**START, "message": {k: MESSAGE[k] for k in MESSAGE if k != "stop_sequence"}}]),
    ("must begin with msg_", [{**START, "message": {**MESSAGE, "id": "chatcmpl-1"}}, END, STOP]),
    ("must be a count", [{**START, "message": {**MESSAGE, "usage": {"input_tokens": 1}}}, END, STOP]),
    ("index must be 0", [START, *text(1, "a"), END, STOP]),
    ("index must be 1", [START, *text(0, "a"), *text(0, "a"), END, STOP]),
    ("index must be 0", [START, begin(0, TEXT), delta(1, "text_delta", text="a"), close(0), END, STOP]),
    ("still open", [START, begin(0, TEXT), begin(1, TEXT), END, STOP]),
    ("still open", [START, begin(0, TEXT), END, STOP]),
    ("no block is open", [START, close(0), END, STOP]),
    ("'text_delta' in a block of type 'thinking'", [START, begin(0, THINKING), delta(0, "text_delta", text="a")]),
    ("text must be a string", [START, begin(0, TEXT), delta(0, "text_delta", text=None), close(0), END, STOP]),
    ("closes with a signature_delta", [START, begin(0, THINKING), close(0), END, STOP]),
    (
        "after the block's signature_delta",
        [
            START,
            begin(0, THINKING),
            delta(0, "signature_delta", signature="s"),
            delta(0, "thinking_delta", thinking=""),
        ],
    ),
    ("input filled", [START, begin(0, {**TOOL, "input": {"a": 1}}), close(0), ended("tool_use"), STOP]),
    ("without id or name", [START, begin(0, {**TOOL, "id": ""}), close(0), ended("tool_use"), STOP]),
    ("'image' is no type of block", [START, begin(0, {"type": "image"}), close(0), END, STOP]),
    ("a text block without text", [START, *text(0), END, STOP]),
    ("a second message_delta", [START, END, END, STOP]),
    ("'stop' is no stop_reason", [START, ended("stop"), STOP]),
    ("does not fit stop_reason 'end_turn'", [START, ended("end_turn", "x"), STOP]),
    ("does not fit stop_reason 'stop_sequence'", [START, ended("stop_sequence"), STOP]),
    ("must be there, null or not", [START, {**END, "delta": {"stop_reason": "end_turn"}}, STOP]),
    ("tool_use without a tool_use block", [START, ended("tool_use"), STOP]),
    ("usage must be an object", [START, {"type": "message_delta", "delta": END["delta"]}, STOP]),
    ("a block after message_delta", [START, END, *text(0, "a"), STOP]),
    ("no message_delta before it", [START, STOP]),
    ("without message_stop and without error", [START, END]),
    ("after the end of the answer", [START, END, STOP, PING]),
    ("after the end of the answer", [START, ERROR, STOP]),
    ("an error after message_delta", [START, END, ERROR]),
    ("error.message must be words", [START, {"type": "error", "error": {"type": "api_error"}}]),
    ("is no event of the protocol", [START, {"type": "completion"}, END, STOP]),
    ("the upstream's field finish_reason", [START, {**END, "finish_reason": "stop"}, STOP]),
]


@pytest.mark.parametrize(("sentence", "events"), BREACHES)
def test_breaches_of_the_protocol(sentence: str, events: list[Event]) -> None:
    with pytest.raises(AssertionError) as caught:
        fold(wire(*events))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("sentence", "body"),
    [
        ("the stream is empty", b""),
        ("ends inside an event", wire(START, END, STOP)[:-1]),
        ("is not one `event:` and one `data:` line", wire(START).replace(b"event: message_start\n", b"")),
        (
            "is named 'ping' but its data has type 'message_start'",
            wire(START).replace(b"event: message_start", b"event: ping"),
        ),
        ("is [DONE]", wire(START, END, STOP) + b"data: [DONE]\n\n"),
        ("is no JSON", b"event: ping\ndata: {\n\n"),
        ("is no JSON object", b"event: ping\ndata: []\n\n"),
    ],
)
def test_breaches_of_the_framing(sentence: str, body: bytes) -> None:
    with pytest.raises(AssertionError) as caught:
        fold(body)
    assert sentence in str(caught.value)


WHOLE = {**MESSAGE, "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}


def test_a_json_body() -> None:
    call = {**TOOL, "input": {"choices": [1]}}
    body = {**WHOLE, "content": [call], "stop_reason": "tool_use"}
    assert fold_json(json.dumps(body).encode()).message == body
    assert fold_json(json.dumps(ERROR).encode()).error == ERROR["error"]


@pytest.mark.parametrize(
    ("sentence", "body"),
    [
        ("None is no stop_reason", {**WHOLE, "stop_reason": None}),
        ("type must be 'message'", {**WHOLE, "type": "completion"}),
        ("role must be 'assistant'", {**WHOLE, "role": "user"}),
        ("content must be a list", {**WHOLE, "content": "Hi"}),
        ("a text block without text", {**WHOLE, "content": [TEXT]}),
        ("signature of a thinking block is None", {**WHOLE, "content": [{"type": "thinking", "thinking": "x"}]}),
        ("the upstream's field choices", {**WHOLE, "choices": []}),
        ("without error object", {"type": "error", "error": "no"}),
    ],
)
def test_breaches_of_a_json_body(sentence: str, body: dict[str, Any]) -> None:
    with pytest.raises(AssertionError) as caught:
        fold_json(json.dumps(body).encode())
    assert sentence in str(caught.value)
