"""Whatever an engine sends, each character of content, reasoning and arguments reaches the client once and in order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.testing import Assembly, Framing, Reply
from core.testing.replay import replayer
from core.testing.strategies import texts, tool_inputs

thorough = settings(
    max_examples=int(os.environ.get("HOOKLINE_EXAMPLES", "35")),
    deadline=None,
    derandomize="HOOKLINE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@pytest.fixture(scope="module")
def assembly() -> Assembly:
    return Assembly(["openai"])


def both(assembly: Assembly, chunks: Sequence[Any], *, done: bool = True) -> tuple[Reply, Reply]:
    """What a client gets that streams, and one that does not. Each answer is checked against the protocol."""
    wire = Framing(done=done, ascii=True).stream(chunks)

    async def run() -> tuple[Reply, Reply]:
        async with replayer(assembly, "always") as player:
            return await player.play([wire], stream=True), await player.play([wire], stream=False)

    return anyio.run(run)


def joined(reply: Reply, kind: str) -> str:
    return "".join(block[kind] for block in reply.message["content"] if block["type"] == kind)


def inputs(reply: Reply) -> list[tuple[str, Any]]:
    return [(block["name"], block["input"]) for block in reply.message["content"] if block["type"] == "tool_use"]


def without_made_ids(reply: Reply) -> list[dict[str, Any]]:
    return [
        {**block, "id": ""} if str(block.get("id")).startswith("toolu_") else block
        for block in reply.message["content"]
    ]


# --- well-formed ---


@attrs.frozen
class Sent:
    """A stream's deltas, and what they say in all."""

    deltas: list[dict[str, Any]]
    text: str
    thinking: str
    calls: list[tuple[str, Any]]


@st.composite
def sound(draw: st.DrawFn) -> Sent:
    """Text, reasoning and calls in pieces, in any order; the pieces of one call in turns with all the rest."""
    arguments = draw(st.lists(tool_inputs(), max_size=3))
    lanes: list[list[tuple[str, dict[str, Any]]]] = []
    for index, value in enumerate(arguments):
        whole = json.dumps(value, ensure_ascii=draw(st.booleans()))
        size = draw(st.sampled_from((1, 3, 50)))
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        start = {"index": index, "id": f"call_{index}", "function": {"name": f"f{index}", "arguments": ""}}
        more = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
        lanes.append([("", {"tool_calls": [fragment]}) for fragment in (start, *more)])
    fields = st.sampled_from(("content", "refusal", "reasoning", "reasoning_content", "reasoning_details"))
    lanes.append(
        [
            (field, {field: details(text) if field == "reasoning_details" else text})
            for field, text in draw(st.lists(st.tuples(fields, texts(2).filter(bool)), max_size=8))
        ]
    )
    said, deltas = {"text": "", "thinking": ""}, []
    while any(lanes):
        field, delta = draw(st.sampled_from([lane for lane in lanes if lane])).pop(0)
        if field:
            value = delta[field] if isinstance(delta[field], str) else delta[field][0]["text"]
            said["text" if field in ("content", "refusal") else "thinking"] += value
        deltas.append(delta)
    order = list(dict.fromkeys(at for delta in deltas for at in indexes(delta)))
    return Sent(deltas, said["text"], said["thinking"], [(f"f{at}", arguments[at]) for at in order])


def details(text: str) -> list[dict[str, Any]]:
    return [{"type": "reasoning.text", "text": text, "index": 0}]


def indexes(delta: Mapping[str, Any]) -> list[int]:
    return [fragment["index"] for fragment in delta.get("tool_calls", ())]


NOISE: tuple[Any, ...] = (
    {},
    None,
    {"choices": []},
    {"choices": None},
    {"choices": [None, 7]},
    {"choices": [{"index": 0}]},
    {"choices": [{"index": 0, "delta": None}]},
    {"choices": [{"index": 1, "delta": {"content": "another choice", "tool_calls": [{"index": 0}]}}]},
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "", "reasoning": "", "refusal": ""}}]},
    {"choices": [{"index": 0, "delta": {"content": None, "reasoning": None, "tool_calls": None}}]},
    {"choices": [{"index": 0, "delta": {"content": 7, "reasoning": {}, "tool_calls": "f", "function_call": []}}]},
    {"choices": [{"index": 0, "delta": {"content": [], "reasoning_details": [None, {}], "tool_calls": [{}, None]}}]},
    {"choices": [{"index": 0, "delta": {"content": [{"type": "reference", "reference_ids": [1]}]}}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
    {"choices": [], "usage": None, "timings": {"ms": 1}},
    {"object": "progress", "done": 1},
)
"""Chunks that say nothing."""


def stream(deltas: Sequence[dict[str, Any]], finish: Any, noise: Sequence[tuple[int, Any]] = ()) -> list[Any]:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    for at, chunk in noise:
        chunks.insert(at % (len(chunks) + 1), chunk)
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]


NOISES = st.lists(st.tuples(st.integers(0, 99), st.sampled_from(NOISE)), max_size=6)


def test_a_sound_stream_comes_out_whole(assembly: Assembly) -> None:
    @thorough
    @given(sound(), st.sampled_from(("stop", "length", "tool_calls", "content_filter", "other")), NOISES)
    def check(sent: Sent, finish: str, noise: list[tuple[int, Any]]) -> None:
        streamed, whole = both(assembly, stream(sent.deltas, finish, noise))
        assert streamed.error is whole.error is None
        assert streamed.message["content"] == whole.message["content"]
        assert joined(whole, "text") == sent.text
        assert joined(whole, "thinking") == sent.thinking
        assert inputs(whole) == sent.calls
        assert streamed.message["stop_reason"] == whole.message["stop_reason"]

    check()


# --- hostile ---

ANY: st.SearchStrategy[Any] = st.sampled_from((None, "", " ", "f", "g", "x\ud83d", 7, True, [], {}, 1.5))
INDEXES: st.SearchStrategy[Any] = st.sampled_from((None, 0, 0, 1, 2, -1, True, "0", 0.0, [], {}))
AROUND = st.sampled_from((("", ""), ("{", ""), ("", "}"), ('{"', '":1}'), ('"', '"'), ("\udc4d", "\ud83d"), ("[", "]")))
KINDS = ("thinking", "text", "tool_use")


@st.composite
def hostile(draw: st.DrawFn) -> tuple[list[Any], dict[str, list[str]]]:
    """Deltas with anything anywhere, and the marks in the text of each kind, in order and each of them once."""
    marks: dict[str, list[str]] = {kind: [] for kind in KINDS}
    deltas: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 12))):
        delta: dict[str, Any] = {"role": draw(ANY)}
        for kind in draw(st.sets(st.sampled_from(KINDS))):
            mark = f"<{kind}{number}>"
            marks[kind].append(mark)
            before, after = draw(AROUND)
            delta |= draw(SAYING[kind](before + mark + after))
        deltas.append(delta)
    return deltas, marks


def thinking(said: str) -> st.SearchStrategy[dict[str, Any]]:
    other = {"reasoning": {}, "reasoning_content": ""}
    return st.sampled_from(
        (
            {"reasoning": said},
            {"reasoning_content": said},
            {"reasoning": said, "reasoning_content": said, "reasoning_details": details(said)},
            {**other, "reasoning_details": details(said)},
        )
    )


def speech(said: str) -> st.SearchStrategy[dict[str, Any]]:
    parts = ({"type": "text", "text": said}, said, {"text": said}, {"type": "refusal", "refusal": said})
    listed = [{"content": [None, part, 7, {"type": "reference"}]} for part in parts]
    return st.sampled_from(({"content": said}, {"refusal": said, "content": None}, *listed))


def called(said: str) -> st.SearchStrategy[dict[str, Any]]:
    arguments = st.sampled_from((said, said, {"a": said}, [said]))
    function = st.fixed_dictionaries({"arguments": arguments}, optional={"name": ANY})
    fragment = st.fixed_dictionaries({"function": function}, optional={"index": INDEXES, "id": ANY, "type": ANY})
    nothing = st.sampled_from((None, {}, 7, {"index": 0}, {"function": None}, {"index": 1, "function": {"name": "f"}}))
    several = st.tuples(nothing, fragment, nothing).map(list)
    legacy = function.map(lambda each: {"function_call": each})
    return (several | fragment).map(lambda each: {"tool_calls": each}) | legacy


SAYING = {"thinking": thinking, "text": speech, "tool_use": called}


def test_a_hostile_stream_loses_nothing(assembly: Assembly) -> None:
    @thorough
    @given(hostile(), st.sampled_from(("stop", "length", "tool_calls", "", None, 7, [])), NOISES)
    def check(case: tuple[list[Any], dict[str, list[str]]], finish: Any, noise: list[tuple[int, Any]]) -> None:
        deltas, marks = case
        streamed, whole = both(assembly, stream(deltas, finish, noise))
        assert streamed.error is whole.error is None
        assert without_made_ids(streamed) == without_made_ids(whole)
        for kind in ("text", "thinking"):
            said = joined(whole, kind)
            assert [said.count(mark) for mark in marks[kind]] == [1] * len(marks[kind])
            assert sorted(marks[kind], key=said.index) == marks[kind]
        arguments = json.dumps(inputs(whole)) + joined(whole, "text")  # what stands behind an object is text
        assert [arguments.count(mark) for mark in marks["tool_use"]] == [1] * len(marks["tool_use"])

    check()


def test_what_came_before_a_break_comes_out(assembly: Assembly) -> None:
    @thorough
    @given(hostile())
    def check(case: tuple[list[Any], dict[str, list[str]]]) -> None:
        deltas, marks = case
        streamed, whole = both(assembly, stream(deltas, None)[:-1], done=False)
        assert streamed.error is not None
        assert (whole.status, whole.message) == (502, {})
        for kind in ("text", "thinking"):
            said = joined(streamed, kind) if streamed.message else ""
            assert [said.count(mark) for mark in marks[kind]] == [1] * len(marks[kind])

    check()
