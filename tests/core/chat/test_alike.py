from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chat.alike import Alike
from core.chat.chunks import ChunkReader


def chunk(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "choices": [choice], **more}


def learned(value: dict[str, Any], data: bytes = b"") -> Alike:
    alike = Alike()
    alike.learn(data or orjson.dumps(value), value)
    return alike


@pytest.mark.parametrize("field", ["content", "reasoning", "reasoning_content"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_chunk_with_another_text_is_known_without_decoding(field: str, separators: tuple[str, str]) -> None:
    first, second = (json.dumps(chunk({field: text}), separators=separators).encode() for text in ("one", 'a "b" \\n'))
    alike = learned(chunk({field: "one"}), first)
    assert alike.text(second) == 'a "b" \\n'
    assert alike.chunk("both") == chunk({field: "both"})


@pytest.mark.parametrize(
    "other",
    [
        chunk({"content": "x"}, created=2),
        chunk({"content": "x", "role": "assistant"}),
        chunk({"content": None}),
        chunk({"content": ["x"]}),
        chunk({}),
    ],
)
def test_any_other_chunk_is_not(other: dict[str, Any]) -> None:
    assert learned(chunk({"content": "one"})).text(orjson.dumps(other)) is None


def test_what_stands_between_must_be_one_string() -> None:
    alike = learned(chunk({"content": "one"}))
    forged = orjson.dumps(chunk({"content": "one"})).replace(b'"one"', b'"a","role":"b"')
    assert orjson.loads(forged)["choices"][0]["delta"]["role"] == "b"
    assert alike.text(forged) is None


@pytest.mark.parametrize(
    "value",
    [
        chunk({"content": ""}),
        chunk({"content": "c"}),  # the id says the same: the place is not sure
        chunk({"content": "one", "reasoning": "two"}),
        chunk({"content": ["one"]}),
        chunk({"content": "one", "tool_calls": [{"index": 0}]}),
        chunk({"tool_calls": [{"index": 0, "id": "i", "function": {"arguments": "one"}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "one"}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": "a"}}, {"index": 1, "function": {}}]}),
        chunk(
            {"content": "one"}, choices=[{"index": 0, "delta": {"content": "x", "text": "one"}, "finish_reason": None}]
        ),
    ],
)
def test_a_chunk_whose_text_has_no_sure_place_is_not_learned(value: dict[str, Any]) -> None:
    alike = learned(value)
    text = alike.text(orjson.dumps(value))
    assert text is None or alike.chunk(text) == value


def test_an_engine_whose_chunks_are_never_alike_is_given_up() -> None:
    alike = Alike()
    for number in range(20):
        value = chunk({"content": f"text {number}"}, created=number)
        alike.learn(orjson.dumps(value), value)
    assert alike.text(orjson.dumps(chunk({"content": "x"}, created=19))) is None


TEXTS = st.lists(st.text(), min_size=1, max_size=12)


@given(TEXTS, st.integers(1, 400))
def test_nothing_is_lost_however_the_stream_is_cut(texts: list[str], size: int) -> None:
    values = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]
    wire = b"".join(b"data: %b\n\n" % orjson.dumps(value) for value in values)
    reader = ChunkReader()
    chunks = [each for start in range(0, len(wire), size) for each in reader.feed(wire[start : start + size])]
    assert reader.error is None
    assert "".join(each["choices"][0]["delta"]["content"] for each in chunks) == "".join(texts)
    for each in chunks:
        each["choices"][0]["delta"].clear()
    assert len({orjson.dumps(each) for each in chunks}) == 1


def test_a_chunk_may_be_changed_without_harm_to_the_next() -> None:
    alike = learned(chunk({"content": "one"}))
    alike.chunk("a")["choices"][0]["delta"]["content"] = "changed"
    assert alike.chunk("b") == chunk({"content": "b"})


def arguments(text: str) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": 1, "function": {"arguments": text}}]})


def test_pieces_of_arguments_are_known_and_their_end_stays_alone() -> None:
    alike = learned(arguments('{"a": "on'))
    assert alike.text(orjson.dumps(arguments('e"'))) == 'e"'
    assert alike.chunk('e"') == arguments('e"')
    assert [alike.alone(text) for text in ("e", "}", 'x"}]')] == [False, True, True]
    assert not learned(chunk({"content": "one"})).alone("}")


def test_an_end_that_comes_twice_comes_as_two_chunks() -> None:
    texts = ['{"a": ', '"b', "c", '"}', '"}']
    wire = b"".join(b"data: %b\n\n" % orjson.dumps(value) for value in [chunk({"content": ""}), *map(arguments, texts)])
    found = [each["choices"][0]["delta"] for each in ChunkReader().feed(wire)][1:]
    pieces = [delta["tool_calls"][0]["function"]["arguments"] for delta in found]
    assert pieces == ['{"a": ', '"bc', '"}', '"}']
