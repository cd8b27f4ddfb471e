"""Tool calls in an answer: every test plays it whole and streamed, on both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.testing import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from tests.mapping.wire import ASK, BACKENDS, HI, F, Wire, completion

CALL = UpstreamToolCall("f", '{"x":1}', "call_1")
NO_TEXT: dict[str, Any] = {"text": None, "finish_reason": "tool_calls"}


def edited(answer: UpstreamAnswer, **fields: Any) -> bytes:
    """A whole answer's bytes with further fields in its message."""
    value = answer.completion()
    value["choices"][0]["message"].update(fields)
    return json.dumps(value).encode()


@pytest.mark.parametrize("backend", BACKENDS)
def test_tool_call(wire: Wire, backend: str) -> None:
    answer = UpstreamAnswer(text="Look.", tool_calls=(CALL,), finish_reason="tool_calls")
    for stream in (False, True):
        asked = {**ASK, "tools": [F], "stream": stream}
        message = wire.ask("/v1/messages", asked, completion(answer), backend=backend).message
        text, call = message["content"]
        assert text == {"type": "text", "text": "Look."}
        assert call == {"type": "tool_use", "id": "call_1", "name": "f", "input": {"x": 1}}
        assert message["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    "shape",
    [
        ChunkShape(piece=1),
        ChunkShape(piece=0),
        ChunkShape(interleaved=True),
        ChunkShape(numbered=False),
        ChunkShape(shared=True, nulls=True),
        ChunkShape(finish_early=True),
    ],
)
def test_several_tool_calls(wire: Wire, shape: ChunkShape) -> None:
    calls = (CALL, UpstreamToolCall("g", '{"y":"z"}', "call_2"), UpstreamToolCall("f", "{}", "call_3"))
    message = wire.answer(UpstreamAnswer(tool_calls=calls, shape=shape, **NO_TEXT))
    assert [(block["id"], block["name"], block["input"]) for block in message["content"]] == [
        ("call_1", "f", {"x": 1}),
        ("call_2", "g", {"y": "z"}),
        ("call_3", "f", {}),
    ]


def piece(arguments: Any, **given: Any) -> dict[str, Any]:
    """One fragment of a call, with its index, id and name as far as given."""
    function = {"name": given.pop("name"), "arguments": arguments} if "name" in given else {"arguments": arguments}
    return {"index": 0, **given, "function": function}


@pytest.mark.parametrize(
    "pieces",
    [
        [piece('{"x"'), piece(":1}", id="c1", name="f")],
        [piece('{"x"', id="c1", name="f"), piece(":1}", id="c1", name="f")],
        [piece("", id="c1", name="f"), piece(None), piece('{"x":1}', id=None, name=None)],
        [piece('{"x":1}', id="c1", name="f"), piece('{"x":1}', id="c1", name="f")],
        [piece('{"x":1}', id="c1", name="f"), piece("")],
        [piece({"x": 1}, id="c1", name="f")],
    ],
    ids=["arguments before the name", "all repeated", "empty ones", "the whole twice", "an empty end", "an object"],
)
def test_odd_fragments(wire: Wire, pieces: list[dict[str, Any]]) -> None:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"tool_calls": [each]}}]} for each in pieces]
    chunks[-1]["choices"][0]["finish_reason"] = "tool_calls"
    (block,) = wire.answer(Framing().stream(chunks), tools=[F])["content"]
    assert block == {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("call_1", "call_1")])
def test_tool_call_ids(wire: Wire, ids: tuple[str | None, ...]) -> None:
    calls = tuple(UpstreamToolCall("f", f'{{"x":{number}}}', given) for number, given in enumerate(ids))
    message = wire.answer(UpstreamAnswer(tool_calls=calls, **NO_TEXT))
    assert [block["input"] for block in message["content"]] == [{"x": 0}, {"x": 1}]
    made = {block["id"] for block in message["content"]} - {"call_1"}
    assert len({block["id"] for block in message["content"]}) == 2
    assert all(identity.startswith("toolu_") for identity in made)


def called(*ids: str) -> list[dict[str, Any]]:
    """A turn with these calls, and the turn with their results."""
    calls = [{"type": "tool_use", "id": identity, "name": "f", "input": {}} for identity in ids]
    results = [{"type": "tool_result", "tool_use_id": identity, "content": identity} for identity in ids]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


@pytest.mark.parametrize("backend", BACKENDS)
def test_ids_of_earlier_turns(wire: Wire, backend: str) -> None:
    calls = (UpstreamToolCall("f", "{}", "call_0"), UpstreamToolCall("f", '{"x":1}', "call_1"))
    talk = [HI]
    for expected in (["call_0", "call_1"], ["call_2", "call_3"], ["call_4", "call_5"]):
        replies = wire.replies(UpstreamAnswer(tool_calls=calls, **NO_TEXT), backend, messages=talk, tools=[F])
        for reply in replies.values():
            assert [block["id"] for block in reply.message["content"]] == expected
        talk = [*talk, *called(*expected)]
    sent = wire.sent(backend, messages=talk, tools=[F])["messages"]
    ids = [call["id"] for turn in sent for call in turn.get("tool_calls", ())]
    assert len(set(ids)) == 6
    assert [turn["tool_call_id"] for turn in sent if turn["role"] == "tool"] == ids
    assert [turn["content"] for turn in sent if turn["role"] == "tool"] == [f"call_{number}" for number in range(6)]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ("", {}),
        ("null", {}),
        ("{}", {}),
        (' {"x": 1}', {"x": 1}),
        ('"{\\"x\\": 1}"', {"x": 1}),
        ("[1]", {"unparsed_arguments": "[1]"}),
        ("say hi", {"unparsed_arguments": "say hi"}),
    ],
)
def test_tool_call_arguments(wire: Wire, arguments: str, given: dict[str, Any]) -> None:
    message = wire.answer(UpstreamAnswer(tool_calls=(UpstreamToolCall("f", arguments),), **NO_TEXT))
    assert message["content"][0]["input"] == given


def test_arguments_as_an_object(wire: Wire) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    message = wire.answer(edited(UpstreamAnswer(**NO_TEXT), tool_calls=[call]))
    assert message["content"][0]["input"] == {"x": 1}


def test_raw_control_characters_in_arguments(wire: Wire) -> None:
    written = '{"x":\n\t"one\n\ttwo\x00"}'
    message = wire.answer(UpstreamAnswer(tool_calls=(UpstreamToolCall("f", written),), **NO_TEXT))
    assert message["content"][0]["input"] == {"x": "one\n\ttwo\0"}


def test_several_objects_in_the_arguments(wire: Wire) -> None:
    written = '{"x":1}{"x":2} {"x":3}\n'
    message = wire.answer(UpstreamAnswer(tool_calls=(UpstreamToolCall("f", written),), **NO_TEXT))
    assert [(block["name"], block["input"]["x"]) for block in message["content"]] == [("f", 1), ("f", 2), ("f", 3)]
    assert len({block["id"] for block in message["content"]}) == 3


@pytest.mark.parametrize("behind", ["}", " </tool_call>\n"])
def test_text_behind_the_arguments(wire: Wire, behind: str) -> None:
    calls = (UpstreamToolCall("f", '{"x":1}' + behind, "call_1"), UpstreamToolCall("g", "{}\n\n", "call_2"))
    call, text, other = wire.answer(UpstreamAnswer(tool_calls=calls, **NO_TEXT))["content"]
    assert (call["input"], text, other["input"]) == ({"x": 1}, {"type": "text", "text": behind.strip()}, {})


@pytest.mark.parametrize("written", ["{'x': 1}", "{x: 1}", "{ NaN", "x = 1", "[1]"])
def test_arguments_that_never_were_an_object(wire: Wire, written: str) -> None:
    message = wire.answer(UpstreamAnswer(tool_calls=(UpstreamToolCall("f", written),), **NO_TEXT))
    assert message["content"][0]["input"] == {"unparsed_arguments": written}


BROKEN = ['{"x": tru', '{"x": tru}', '{"x": NaN}', '{"x": "ab', '{"x": "say "}"}']


@pytest.mark.parametrize("written", BROKEN)
def test_broken_arguments(wire: Wire, written: str) -> None:
    answer = UpstreamAnswer(tool_calls=(UpstreamToolCall("f", written),), **NO_TEXT)
    asked = {**ASK, "tools": [F]}
    message = wire.ask("/v1/messages", asked, completion(answer)).message
    assert message["content"][0]["input"] == {"unparsed_arguments": written}
    assert message["stop_reason"] == "tool_use"
    pieces = [event["delta"].get("partial_json", "") for event in wire.events(answer, tools=[F]) if "delta" in event]
    assert "".join(pieces) == written


def test_function_call(wire: Wire) -> None:
    old = edited(
        UpstreamAnswer(text=None, finish_reason="function_call"), function_call={"name": "f", "arguments": '{"x":1}'}
    )
    message = wire.answer(old)
    assert (message["content"][0]["input"], message["stop_reason"]) == ({"x": 1}, "tool_use")


def test_stop_inside_a_call(wire: Wire) -> None:
    cut = UpstreamAnswer(tool_calls=(UpstreamToolCall("f", '{"x": "'),), choice={"stop_reason": "END"}, **NO_TEXT)
    message = wire.answer(cut, "vllm", stop_sequences=["END"])
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
