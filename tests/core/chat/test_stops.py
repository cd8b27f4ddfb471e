from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from core.chat.stops import FinishReason, StopField, StopKind, VerboseStop
from core.deltas import Delta, Stop, StopReason, Text, ToolUse, Usage

CALL = ToolUse(0, "", "c0", "f")


def chunk(finish: Any = None, *, top: dict[str, Any] | None = None, delta: Any = None, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish, **choice}], **(top or {})}


def ending(stop: FinishReason, *chunks: dict[str, Any], deltas: Sequence[Delta] = ()) -> list[Delta]:
    for number, one in enumerate(chunks):
        given = deltas if number == 0 else ()
        assert stop.feed(one, given) is given
    return list(stop.flush())


REASONS: list[tuple[Any, bool, bool, StopReason]] = [
    # finish_reason, calls, refusal, stop reason
    ("stop", False, False, "end_turn"),
    ("stop", True, False, "tool_use"),
    ("stop", False, True, "refusal"),
    ("length", False, False, "max_tokens"),
    ("length", True, False, "max_tokens"),
    ("length", False, True, "refusal"),
    ("tool_calls", False, False, "end_turn"),
    ("tool_calls", True, False, "tool_use"),
    ("function_call", True, False, "tool_use"),
    ("function_call", False, False, "end_turn"),
    ("content_filter", False, False, "refusal"),
    ("content_filter", True, False, "refusal"),
    ("content_filter", False, True, "refusal"),
    ("stop_sequence", False, False, "end_turn"),
    ("eos", False, False, "end_turn"),
    ("load", True, False, "tool_use"),
    (7, False, False, "end_turn"),
    ({"type": "stop"}, True, False, "tool_use"),
    (["stop"], False, False, "end_turn"),
]


@pytest.mark.parametrize(("finish", "calls", "refusal", "expected"), REASONS)
@pytest.mark.parametrize(
    "make",
    [
        FinishReason,
        lambda: StopField("stop_reason", ("5",)),
        lambda: VerboseStop(("5",)),
        lambda: StopKind(("5", "6")),
    ],
    ids=["plain", "field", "verbose", "kind"],
)
def test_the_reason(
    make: Callable[[], FinishReason], finish: Any, calls: bool, refusal: bool, expected: StopReason
) -> None:
    deltas = [CALL] if calls else [Text("a")]
    first = chunk(delta={"refusal": "no"} if refusal else {"refusal": None, "content": "a"})
    assert ending(make(), first, chunk(finish), deltas=deltas) == [Stop(expected)]
    assert ending(make(), chunk(finish, delta={"refusal": "no" if refusal else ""}), deltas=deltas) == [Stop(expected)]


@pytest.mark.parametrize("chunks", [[], [{}], [chunk()], [chunk("")], [{"choices": []}], [{"choices": None}]])
def test_without_a_reason_there_is_no_stop(chunks: list[dict[str, Any]]) -> None:
    assert ending(FinishReason(), *chunks) == []
    assert ending(StopField("stop_reason", ("5",)), *chunks) == []


def test_the_reason_stands_when_usage_follows() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 1}}
    assert ending(FinishReason(), chunk("length"), usage, chunk(None), {}, deltas=[Usage(1)]) == [Stop("max_tokens")]


def test_the_reason_of_another_choice_is_nobody_s() -> None:
    other = {"choices": [{"index": 1, "delta": {"refusal": "no"}, "finish_reason": "length"}]}
    assert ending(FinishReason(), other, chunk("stop")) == [Stop("end_turn")]


def test_calls_that_go_out_with_the_flush_count() -> None:
    stop = FinishReason()
    stop.feed(chunk("tool_calls"), [])
    assert stop.feed({}, [Text("a"), CALL]) == [Text("a"), CALL]
    assert stop.flush() == [Stop("tool_use")]


# --- the engine's report of the match ---


@pytest.mark.parametrize("field", ["stop_reason", "matched_stop"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5", Stop("stop_sequence", "5")),
        ("\n\n", Stop("stop_sequence", "\n\n")),
        (5, Stop("end_turn")),
        (128_001, Stop("end_turn")),
        (None, Stop("end_turn")),
        ("", Stop("end_turn")),
        ("</not-asked>", Stop("end_turn")),
        (["5"], Stop("end_turn")),
        (True, Stop("end_turn")),
    ],
)
def test_the_field_that_names_the_match(field: str, value: Any, expected: Stop) -> None:
    assert ending(StopField(field, ("5", "\n\n")), chunk("stop", **{field: value})) == [expected]


def test_a_match_wins_over_calls() -> None:
    found = ending(StopField("stop_reason", ("5",)), chunk("tool_calls", stop_reason="5"), deltas=[CALL])
    assert found == [Stop("stop_sequence", "5")]


def test_a_match_may_come_before_the_finish_and_without_it_is_no_end() -> None:
    early = chunk(None, stop_reason="5")
    assert ending(StopField("stop_reason", ("5",)), early, chunk("stop", stop_reason=None)) == [
        Stop("stop_sequence", "5")
    ]
    assert ending(StopField("stop_reason", ("5",)), early) == []


def test_nothing_asked_nothing_matched() -> None:
    assert ending(StopField("stop_reason", ()), chunk("stop", stop_reason="5")) == [Stop("end_turn")]


@pytest.mark.parametrize(
    ("verbose", "expected"),
    [
        ({"stop_type": "word", "stopping_word": "5"}, Stop("stop_sequence", "5")),
        ({"stop_type": "word", "stopping_word": "<|im_end|>"}, Stop("end_turn")),
        ({"stop_type": "eos", "stopping_word": "5"}, Stop("end_turn")),
        ({"stop_type": "limit", "stopping_word": ""}, Stop("end_turn")),
        ({"stop_type": "word", "stopping_word": None}, Stop("end_turn")),
        ({"stop_type": ["word"]}, Stop("end_turn")),
        ({}, Stop("end_turn")),
        (None, Stop("end_turn")),
        ("word", Stop("end_turn")),
    ],
)
def test_llama_cpp_s_report(verbose: Any, expected: Stop) -> None:
    top = {"__verbose": verbose}
    assert ending(VerboseStop(("5",)), chunk("stop", top=top)) == [expected]
    assert ending(VerboseStop(("5",)), chunk(None, top=top), chunk("stop")) == [expected]
    assert ending(VerboseStop(("5",)), chunk("stop"), {"choices": [], **top}) == [expected]


def test_a_limit_with_calls_is_told_as_a_limit_by_llama_cpp_too() -> None:
    top = {"__verbose": {"stop_type": "limit", "stopping_word": ""}}
    assert ending(VerboseStop(("5",)), chunk("length", top=top), deltas=[CALL]) == [Stop("max_tokens")]


# --- an engine that tells the kind alone ---


@pytest.mark.parametrize(
    ("stops", "finish", "expected"),
    [
        (("5",), "stop_sequence", Stop("stop_sequence", "5")),
        (("5",), "stop", Stop("end_turn")),
        (("5",), "length", Stop("max_tokens")),
        (("5", "6"), "stop_sequence", Stop("end_turn")),
        ((), "stop_sequence", Stop("end_turn")),
    ],
)
def test_the_only_stop_is_the_one_that_matched(stops: tuple[str, ...], finish: str, expected: Stop) -> None:
    assert ending(StopKind(stops), chunk(None), chunk(finish)) == [expected]


def test_one_stop_asked_for_twice_is_still_the_only_one() -> None:
    assert ending(StopKind(("5", "5")), chunk("stop_sequence")) == [Stop("stop_sequence", "5")]


def test_the_kind_may_have_another_name() -> None:
    assert ending(StopKind(("5",), "matched"), chunk("matched")) == [Stop("stop_sequence", "5")]
    assert ending(StopKind(("5",), "matched"), chunk("stop_sequence")) == [Stop("end_turn")]


WORDS = {"done": "stop", "cap": "length", "call": "tool_calls", "blocked": "content_filter"}


@pytest.mark.parametrize(
    ("finish", "deltas", "reason"),
    [
        ("done", [], "end_turn"),
        ("done", [CALL], "tool_use"),
        ("cap", [CALL], "max_tokens"),
        ("call", [CALL], "tool_use"),
        ("call", [], "end_turn"),
        ("blocked", [], "refusal"),
        ("length", [], "max_tokens"),
        ("other", [], "end_turn"),
    ],
)
def test_words_of_the_engine_s_own(finish: str, deltas: list[Delta], reason: StopReason) -> None:
    for stop in (FinishReason(WORDS), StopField("halted", ("5",), WORDS), StopKind(("5",), words=WORDS)):
        assert ending(stop, chunk(finish), deltas=deltas) == [Stop(reason)]


def test_words_stand_for_the_usual_ones_alone() -> None:
    with pytest.raises(ValueError, match="words stand for one of stop, length, tool_calls, content_filter, not max"):
        FinishReason({"cap": "max_tokens"})
