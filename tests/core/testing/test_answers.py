from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from core.testing import ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall

CALLS = (UpstreamToolCall("a", '{"x":1}', "call_a"), UpstreamToolCall("b", '{"yy":22}', "call_b"))
FULL = UpstreamAnswer(text="one two", reasoning="hm hm", tool_calls=CALLS, finish_reason="tool_calls")


def deltas(answer: UpstreamAnswer) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in answer.chunks() for choice in chunk["choices"]]


def joined(answer: UpstreamAnswer, field: str) -> str:
    return "".join(delta.get(field) or "" for delta in deltas(answer))


@pytest.mark.parametrize("piece", [0, 1, 3, 100])
@pytest.mark.parametrize("shared", [False, True])
def test_both_forms_hold_the_same_text(piece: int, shared: bool) -> None:
    answer = attrs.evolve(FULL, shape=ChunkShape(piece=piece, shared=shared))
    message = answer.completion()["choices"][0]["message"]
    assert joined(answer, "content") == message["content"] == "one two"
    assert joined(answer, "reasoning_content") == message["reasoning_content"] == "hm hm"


def test_reasoning_goes_out_under_every_field() -> None:
    answer = attrs.evolve(FULL, reasoning_fields=("reasoning", "reasoning_content"))
    assert joined(answer, "reasoning") == joined(answer, "reasoning_content") == "hm hm"
    assert answer.completion()["choices"][0]["message"]["reasoning"] == "hm hm"


@pytest.mark.parametrize("interleaved", [False, True])
def test_calls_are_cut_and_numbered(interleaved: bool) -> None:
    answer = attrs.evolve(FULL, shape=ChunkShape(piece=3, interleaved=interleaved))
    fragments = [fragment for delta in deltas(answer) for fragment in delta.get("tool_calls", ())]
    for number, call in enumerate(CALLS):
        own = [fragment for fragment in fragments if fragment["index"] == number]
        assert own[0]["id"] == call.id
        assert "".join(fragment["function"]["arguments"] for fragment in own) == call.arguments
        assert all("id" not in fragment for fragment in own[1:])
    order = [fragment["index"] for fragment in fragments]
    assert (order == sorted(order)) is not interleaved


def test_calls_may_lack_numbers_and_ids() -> None:
    answer = UpstreamAnswer(tool_calls=(UpstreamToolCall("a", "", None),), shape=ChunkShape(numbered=False))
    (fragment,) = (fragment for delta in deltas(answer) for fragment in delta.get("tool_calls", ()))
    assert fragment == {"type": "function", "function": {"name": "a", "arguments": ""}}


@pytest.mark.parametrize(("role", "first"), [("empty", {"content": ""}), ("null", {"content": None}), ("bare", {})])
def test_first_chunk(role: Any, first: dict[str, Any]) -> None:
    assert deltas(UpstreamAnswer(shape=ChunkShape(role=role)))[0] == {"role": "assistant", **first}


def test_no_role_chunk_and_null_fields() -> None:
    answer = UpstreamAnswer(text="x", shape=ChunkShape(role="none", nulls=True))
    assert deltas(answer)[0] == {"content": "x", "reasoning_content": None, "tool_calls": None}


def test_the_finish_comes_last_or_early_with_its_fields() -> None:
    late = UpstreamAnswer(text="abcdefgh", choice={"stop_reason": "5"}, top={"__verbose": {}}, usage=None)
    early = attrs.evolve(late, shape=ChunkShape(finish_early=True))
    for answer, delta in ((late, {}), (early, {"content": "efgh"})):
        last = answer.chunks()[-1]
        choice = {"index": 0, "delta": delta, "finish_reason": "stop", "stop_reason": "5"}
        assert last["choices"] == [choice]
        assert last["__verbose"] == {}
    assert late.completion()["choices"][0]["stop_reason"] == "5"


@pytest.mark.parametrize(("at", "counts"), [("apart", [None, None, 7]), ("finish", [None, 7]), ("every", [0, 7])])
def test_usage(at: Any, counts: list[int | None]) -> None:
    answer = UpstreamAnswer(text="x", usage_at=at, shape=ChunkShape(role="none"))
    assert [chunk.get("usage", {}).get("completion_tokens") for chunk in answer.chunks()] == counts
    assert answer.completion()["usage"]["prompt_tokens"] == 11


def test_no_usage() -> None:
    answer = UpstreamAnswer(usage=None)
    assert not any("usage" in chunk for chunk in [*answer.chunks(), answer.completion()])


def test_an_error_breaks_off_the_stream() -> None:
    answer = UpstreamAnswer(text="so far", error={"message": "broke"})
    assert answer.completion() == {"error": {"message": "broke"}}
    assert answer.chunks()[-1] == {"error": {"message": "broke"}}
    assert joined(attrs.evolve(answer, error=None), "content") == "so far"
    assert not any("usage" in chunk for chunk in answer.chunks())


def test_framing() -> None:
    framing = Framing(eol="\r\n", comment="keep-alive", blank_lines=1, space=False, ascii=True)
    assert framing.data({"a": "é"}) == b': keep-alive\r\n\r\ndata:{"a":"\\u00e9"}\r\n\r\n\r\n'
    assert Framing().stream([{"a": "é"}]) == 'data: {"a":"é"}\n\ndata: [DONE]\n\n'.encode()
    assert Framing(done=False).stream([]) == b""


def test_halves_cut_inside_a_character() -> None:
    answer = UpstreamAnswer(text="a😀", shape=ChunkShape(piece=2, halves=True), framing=Framing(ascii=True))
    assert b'"a\\ud83d"' in answer.sse()
    assert b'"\\ude00"' in answer.sse()
    assert json.loads(answer.json())["choices"][0]["message"]["content"] == "a😀"


def test_wire_gives_either_form() -> None:
    answer = UpstreamAnswer()
    assert answer.wire(stream=True) == answer.sse()
    assert answer.wire(stream=False) == answer.json()
