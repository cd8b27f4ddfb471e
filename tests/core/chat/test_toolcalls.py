from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.chat.toolcalls import NO_NAME, ToolCalls
from core.deltas import Delta, State, Text, Thinking, ToolUse
from core.testing.strategies import tool_inputs


def piece(
    arguments: Any = None, name: Any = None, *, index: Any = None, identity: Any = None, absent: bool = True
) -> dict[str, Any]:
    """One fragment; what is None is absent, or null."""
    function = {"name": name, "arguments": arguments}
    fragment = {"index": index, "id": identity, "type": "function"}
    if absent:
        function = {key: value for key, value in function.items() if value is not None}
        fragment = {key: value for key, value in fragment.items() if value is not None}
    return {**fragment, "function": function}


def translate(*items: Any) -> list[Delta]:
    calls = ToolCalls()
    out: list[Delta] = []
    for item in items:
        out += calls.between(item) if isinstance(item, Text | Thinking) else calls.feed(item)
    return out + calls.flush()


def fold(deltas: Sequence[Delta]) -> list[tuple[str, str]]:
    """Name and arguments of each call; asserts that the calls are whole, numbered, and one after another."""
    found: list[tuple[str, str]] = []
    ids = []
    for delta in deltas:
        if not isinstance(delta, ToolUse):
            continue
        if delta.index == len(found):
            assert delta.id
            assert delta.name
            ids.append(delta.id)
            found.append((delta.name, delta.arguments))
        else:
            assert (delta.index, delta.id, delta.name) == (len(found) - 1, "", "")
            found[-1] = (found[-1][0], found[-1][1] + delta.arguments)
    assert len(set(ids)) == len(ids)
    return found


def ids(deltas: Sequence[Delta]) -> list[str]:
    return [delta.id for delta in deltas if isinstance(delta, ToolUse) and delta.id]


# --- the usual ---


def test_the_first_fragment_starts_the_call_at_once() -> None:
    calls = ToolCalls()
    assert calls.feed(piece("", "f", index=0, identity="c0")) == [ToolUse(0, "", "c0", "f")]
    assert calls.feed(piece('{"a"', index=0)) == [ToolUse(0, '{"a"')]
    assert calls.feed(piece(":1}", index=0)) == [ToolUse(0, ":1}")]
    assert calls.flush() == calls.flush() == []


def test_interleaved_calls_come_one_after_another() -> None:
    calls = ToolCalls()
    assert calls.feed(piece('{"a":', "f", index=0, identity="c0")) == [ToolUse(0, "", "c0", "f"), ToolUse(0, '{"a":')]
    assert calls.feed(piece('{"b":', "g", index=1, identity="c1")) == []
    assert calls.feed(piece("1}", index=0)) == [
        ToolUse(0, "1}"),
        ToolUse(1, "", "c1", "g"),
        ToolUse(1, '{"b":'),
    ]
    assert calls.feed(piece("2}", index=1)) == [ToolUse(1, "2}")]
    assert calls.flush() == []


def test_a_complete_call_lets_the_next_one_begin_at_once() -> None:
    calls = ToolCalls()
    calls.feed(piece('{"a":1}', "f", index=0, identity="c0"))
    assert calls.feed(piece("", "g", index=1, identity="c1")) == [ToolUse(1, "", "c1", "g")]


@pytest.mark.parametrize("arguments", [None, "", "null", "{}", {}, " "])
def test_a_call_without_arguments_has_an_empty_object(arguments: Any) -> None:
    for absent in (True, False):
        assert fold(translate(piece(arguments, "f", index=0, identity="c0", absent=absent))) == [("f", "{}")]


def test_equal_neighbouring_fragments_are_both_kept() -> None:
    parts = ('{"a":"', "ha", "ha", "}}", "}}", '"', "}")
    fragments = [piece(part, "f" if number == 0 else None, index=0) for number, part in enumerate(parts)]
    assert fold(translate(*fragments)) == [("f", '{"a":"haha}}}}"}')]


# --- the shapes of the field ---

WHOLE = '{"a":1}'
SHAPES: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "id and name on every fragment (TGI)": (
        [piece(part, "f", index=0, identity="0") for part in ('{"a"', ":1", "}")],
        [("f", WHOLE)],
    ),
    "name on every fragment, no id (TensorRT-LLM)": (
        [piece(part, "f", index=0, absent=False) for part in ('{"a"', ":1", "}")],
        [("f", WHOLE)],
    ),
    "name on every fragment, neither id nor index": (
        [piece(part, "f") for part in ('{"a"', ":1", "}")],
        [("f", WHOLE)],
    ),
    "null id and name later (SGLang)": (
        [piece("", "f", index=0, identity="c0"), piece(WHOLE, index=0, absent=False)],
        [("f", WHOLE)],
    ),
    "a new id on every fragment": (
        [
            piece('{"a"', "f", index=0, identity="x1"),
            piece(":1", index=0, identity="x2"),
            piece("}", index=0, identity="x3"),
        ],
        [("f", WHOLE)],
    ),
    "whole calls (Ollama)": (
        [piece(WHOLE, "f", index=0, identity="c0"), piece(WHOLE, "g", index=1, identity="c1")],
        [("f", WHOLE), ("g", WHOLE)],
    ),
    "whole calls without index": (
        [piece(WHOLE, "f", identity="c0"), piece(WHOLE, "f", identity="c1")],
        [("f", WHOLE), ("f", WHOLE)],
    ),
    "whole calls without index and id": (
        [piece(WHOLE, "f"), piece("{}", "f"), piece("", "f")],
        [("f", WHOLE), ("f", "{}"), ("f", "{}")],
    ),
    "streamed without index": (
        [piece('{"a"', "f", identity="c0"), piece(":1}"), piece('{"b"', "f", identity="c1"), piece(":2}")],
        [("f", WHOLE), ("f", '{"b":2}')],
    ),
    "streamed by id alone, interleaved": (
        [
            piece('{"a"', "f", identity="c0"),
            piece('{"b"', "g", identity="c1"),
            piece(":1}", identity="c0"),
            piece(":2}", identity="c1"),
        ],
        [("f", WHOLE), ("g", '{"b":2}')],
    ),
    "the same id twice": (
        [piece(WHOLE, "f", index=0, identity="c"), piece(WHOLE, "f", index=1, identity="c")],
        [("f", WHOLE), ("f", WHOLE)],
    ),
    "the same id twice without index": (
        [piece(WHOLE, "f", identity="c"), piece('{"b":2}', "g", identity="c")],
        [("f", WHOLE), ("g", '{"b":2}')],
    ),
    "all under index 0": (
        [piece(WHOLE, "f", index=0, identity="c0"), piece(WHOLE, "f", index=0, identity="c1")],
        [("f", WHOLE), ("f", WHOLE)],
    ),
    "all under index 0, no ids": (
        [piece(WHOLE, "f", index=0), piece('{"b":2}', "f", index=0), piece("{}", "g", index=0)],
        [("f", WHOLE), ("f", '{"b":2}'), ("g", "{}")],
    ),
    "all under index 0, neither ids nor names": (
        [piece(WHOLE, "f", index=0), piece('{"b"', index=0), piece(":2}", index=0)],
        [("f", WHOLE), ("f", '{"b":2}')],
    ),
    "arguments before the name": (
        [piece('{"a"', index=0), piece(":1}", index=0), piece("", "f", index=0, identity="c0")],
        [("f", WHOLE)],
    ),
    "id before the name": ([piece(None, index=0, identity="c0"), piece(WHOLE, "f", index=0)], [("f", WHOLE)]),
    "arguments as an object": ([piece({"a": 1}, "f", index=0)], [("f", WHOLE)]),
    "arguments encoded twice": ([piece(json.dumps(WHOLE), "f", index=0)], [("f", WHOLE)]),
    "the closing fragment twice": (
        [piece('{"a":', "f", index=0), piece("1}", index=0), piece("1}", index=0)],
        [("f", WHOLE)],
    ),
    "the whole call twice": ([piece(WHOLE, "f", index=0, identity="c0")] * 2, [("f", WHOLE)]),
    "the whole arguments again at the end": (
        [piece('{"a":', "f", index=0, identity="c0"), piece("1}", index=0), piece(WHOLE, "f", index=0, identity="c0")],
        [("f", WHOLE)],
    ),
    "an empty fragment at the end": (
        [piece(WHOLE, "f", index=0), {"index": 0}, piece("", index=0), piece(" ", index=0), piece("", index=1), {}],
        [("f", WHOLE)],
    ),
    "fragments with nothing in them": ([{}, {"index": 0}, {"function": None}, piece("", "", index=1, identity="")], []),
    "an id and nothing else": ([piece(None, index=0, identity="c0")], []),
    "no name at all": ([piece(WHOLE, index=0, identity="c0")], [(NO_NAME, WHOLE)]),
    "indexes that do not begin at 0": (
        [piece(WHOLE, "f", index=3), piece(WHOLE, "g", index=1)],
        [("f", WHOLE), ("g", WHOLE)],
    ),
    "numbers as name and id": ([piece(WHOLE, 7, index=0, identity=7)], [("7", WHOLE)]),
    "text that is no JSON": ([piece("a=1", "f", index=0)], [("f", '{"unparsed_arguments":"a=1"}')]),
    "several objects in one fragment": (
        [piece(WHOLE + '\n{"b":2}{}', "f", index=0, identity="c0"), piece("{}", "g", index=1, identity="c1")],
        [("f", WHOLE), ("f", '{"b":2}'), ("f", "{}"), ("g", "{}")],
    ),
    "the next object begins in the last fragment of the one before": (
        [piece('{"a":', "f", index=0), piece('1}{"b"', index=0), piece(":2", index=0), piece("}", index=0)],
        [("f", WHOLE), ("f", '{"b":2}')],
    ),
    "the same, by id alone": (
        [piece('{"a":', "f", identity="c"), piece('1}{"b"', identity="c"), piece(":2}", identity="c")],
        [("f", WHOLE), ("f", '{"b":2}')],
    ),
    "the same object twice in one fragment": ([piece(WHOLE + WHOLE, "f", index=0)], [("f", WHOLE)]),
    "raw line breaks in a string": (
        [piece('{"a":"x', "f", index=0), piece('\n\ty"\n}', index=0)],
        [("f", '{"a":"x\\n\\ty"\n}')],
    ),
    "no object behind its brace": (
        [piece("{", "f", index=0), piece("'a': 1}", index=0), piece("{}", "g", index=1)],
        [("f", """{"unparsed_arguments":"{'a': 1}"}"""), ("g", "{}")],
    ),
    "a closing brace too many in a broken object": (
        [piece('{"a":"say "}"', "f", index=0), piece("}", index=0), piece("{}", "g", index=1)],
        [("f", '{"a":"say "}"}'), ("g", "{}")],
    ),
    "broken JSON is kept broken": ([piece('{"a":', "f", index=0), piece("}}", index=0)], [("f", '{"a":}}')]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_of_the_field(shape: str) -> None:
    fragments, expected = SHAPES[shape]
    assert fold(translate(*fragments)) == expected


def test_ids_are_the_engine_s_where_they_are_there_and_unique() -> None:
    found = translate(
        piece("{}", "f", index=0, identity="a"), piece("{}", "f", index=1, identity="a"), piece("{}", "f", index=2)
    )
    first, second, third = ids(found)
    assert first == "a"
    assert second.startswith("toolu_")
    assert third.startswith("toolu_")


def test_a_name_with_half_a_character_can_be_encoded() -> None:
    assert fold(translate(piece("{}", "f\ud83d", index=0, identity="\ud83d"))) == [("f\ufffd", "{}")]


def test_halves_of_a_character_in_two_fragments() -> None:
    assert fold(translate(piece('{"a":"\ud83d', "f", index=0), piece('\udc4d"}', index=0))) == [("f", '{"a":"👍"}')]


def test_a_nameless_call_does_not_keep_back_the_others_for_ever() -> None:
    calls = ToolCalls()
    assert calls.feed(piece(WHOLE, index=0)) == calls.feed(piece(WHOLE, "g", index=1)) == []
    assert fold(calls.flush()) == [(NO_NAME, WHOLE), ("g", WHOLE)]


def test_text_between_calls_keeps_its_place() -> None:
    found = translate(piece(WHOLE, "f", index=0), Text("a"), piece(WHOLE, "g", index=1), Thinking("b"))
    assert [type(delta).__name__ for delta in found] == ["ToolUse", "ToolUse", "Text", "ToolUse", "ToolUse", "Thinking"]


@pytest.mark.parametrize("pieces", [[WHOLE + "} ok\n"], [WHOLE, "} ok\n"], ['{"a"', ":1}}", " ", "ok"]])
def test_text_behind_the_arguments_follows_the_call(pieces: list[str]) -> None:
    first = [piece(part, None if number else "f", index=0) for number, part in enumerate(pieces)]
    found = translate(*first, Text("t"), piece("{}", "g", index=1))
    assert fold(found) == [("f", WHOLE), ("g", "{}")]
    assert [delta for delta in found if isinstance(delta, Text)] == [Text("} ok"), Text("t")]
    assert [type(delta).__name__ for delta in found[-4:]] == ["Text", "Text", "ToolUse", "ToolUse"]


# --- what the engine wants back ---


def signed(fragment: dict[str, Any], value: Any) -> dict[str, Any]:
    return {**fragment, "extra_content": value}


def states(*fragments: dict[str, Any]) -> list[Any]:
    """The deltas, calls by their ids alone."""
    calls = ToolCalls(("extra_content",))
    found = [delta for fragment in fragments for delta in calls.feed(fragment)] + calls.flush()
    fold(found)
    begun = [
        delta.id if isinstance(delta, ToolUse) else delta.calls for delta in found if isinstance(delta, ToolUse | State)
    ]
    return [each for each in begun if each]


def test_a_field_on_the_first_fragment_comes_before_the_start() -> None:
    first = signed(piece("", "f", index=0, identity="a"), {"v": 1})
    assert states(first, piece(WHOLE, index=0)) == [{"a": {"extra_content": {"v": 1}}}, "a"]


def test_a_field_that_comes_late_comes_at_the_end() -> None:
    fragments = [piece('{"a"', "f", index=0, identity="a"), signed(piece(":1}", index=0), {"v": 1})]
    assert states(*fragments) == ["a", {"a": {"extra_content": {"v": 1}}}]
    assert states(*fragments, signed(piece(":1}", index=0), {"v": 1})) == ["a", {"a": {"extra_content": {"v": 1}}}]


def test_a_field_on_an_empty_or_repeated_fragment_behind_the_end_is_not_lost() -> None:
    whole = piece(WHOLE, "f", index=0, identity="a"), piece(WHOLE, "g", index=1, identity="b")
    for last in (signed({"index": 0}, {"v": 1}), signed(piece(WHOLE, "f", index=0, identity="a"), {"v": 1})):
        assert states(*whole, last) == ["a", "b", {"a": {"extra_content": {"v": 1}}}]


def test_a_waiting_call_has_its_field_before_its_start() -> None:
    fragments = [
        piece('{"a":', "f", index=0, identity="a"),
        piece('{"b":', "g", index=1, identity="b"),
        signed(piece("2}", index=1), {"v": 2}),
        piece("1}", index=0),
    ]
    assert states(*fragments) == ["a", {"b": {"extra_content": {"v": 2}}}, "b"]


def test_the_ids_are_those_that_the_client_sees() -> None:
    first, second = (signed(piece("{}", "f", index=at, identity="a"), {"v": at}) for at in (0, 1))
    found = states(first, second)
    assert found[:2] == [{"a": {"extra_content": {"v": 0}}}, "a"]
    assert found[2] == {found[3]: {"extra_content": {"v": 1}}}
    assert found[3].startswith("toolu_")


@pytest.mark.parametrize("nothing", [None, {}, "", []])
def test_an_empty_field_is_none(nothing: Any) -> None:
    assert states(signed(piece("{}", "f", index=0, identity="a"), nothing)) == ["a"]


# --- properties ---

WORDS: st.SearchStrategy[Any] = st.sampled_from((None, "", " ", "f", "g", "a\ud83d", 7, True, [], {}, 1.5))
INDEXES: st.SearchStrategy[Any] = st.sampled_from((None, 0, 1, 2, -1, True, "0", 0.0, [], {}))


@st.composite
def hostile_fragments(draw: st.DrawFn) -> tuple[list[Any], list[str]]:
    """Fragments with anything anywhere, and the marks that their arguments hold, each of them once."""
    fragments: list[Any] = []
    marks = []
    for number in range(draw(st.integers(0, 12))):
        mark = f"<{number}>"
        before, after = draw(
            st.sampled_from((("", ""), ("{", ""), ("", "}"), ('{"', '":1}'), ('"', '"'), (" ", "\ud83d")))
        )
        text = before + mark + after
        arguments = draw(st.sampled_from((text, {"a": text}, [text], None, "", " ", "null", "}", 7)))
        function = draw(
            st.sampled_from(({"name": draw(WORDS), "arguments": arguments}, {"arguments": arguments}, None, 7))
        )
        fragment = {"index": draw(INDEXES), "id": draw(WORDS), "function": function}
        fragments.append(fragment)
        if isinstance(function, dict) and mark in str(arguments):
            marks.append(mark)
        if draw(st.booleans()):
            fragments.append(Text(f"t{number}"))
    return fragments, marks


@given(hostile_fragments())
def test_nothing_breaks_it_and_nothing_is_lost(case: tuple[list[Any], list[str]]) -> None:
    fragments, marks = case
    deltas = translate(*fragments)
    texts = [delta for delta in deltas if isinstance(delta, Text)]
    given = [item for item in fragments if isinstance(item, Text)]
    arguments = "".join(text for _, text in fold(deltas)) + "".join(delta.text for delta in texts)
    assert [arguments.count(mark) for mark in marks] == [1] * len(marks)
    assert [delta for delta in texts if delta in given] == given
    assert json.dumps([str(delta) for delta in deltas], ensure_ascii=False).encode()


@st.composite
def sound_streams(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Calls cut into fragments in one of the usual ways, and what they are."""
    by_index, by_id = draw(st.sampled_from(((True, True), (True, False), (False, True))))
    repeats_id, repeats_name = draw(st.booleans()), draw(st.booleans())
    expected, lanes = [], []
    for number in range(draw(st.integers(1, 3))):
        name, text = (
            draw(st.sampled_from(("f", "g"))),
            json.dumps(draw(tool_inputs()), ensure_ascii=draw(st.booleans())),
        )
        size = draw(st.integers(1, 9))
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        index, identity = number if by_index else None, f"c{number}" if by_id else None
        keeps_id = repeats_id or not by_index
        lanes.append(
            [
                piece(
                    part,
                    name if at == 0 or repeats_name else None,
                    index=index,
                    identity=identity if at == 0 or keeps_id else None,
                )
                for at, part in enumerate(parts)
            ]
        )
        expected.append((name, text))
    stream = [lane.pop(0) for lane in lanes]
    while any(lanes):
        stream.append(draw(st.sampled_from([lane for lane in lanes if lane])).pop(0))
    return stream, expected


@given(sound_streams())
def test_a_sound_stream_gives_its_calls_however_interleaved(
    case: tuple[list[dict[str, Any]], list[tuple[str, str]]],
) -> None:
    stream, expected = case
    assert fold(translate(*stream)) == expected


@given(tool_inputs(), st.integers(1, 5))
def test_everything_of_the_first_call_goes_out_with_its_fragment(value: dict[str, Any], size: int) -> None:
    text = json.dumps(value)
    assume(text != "{}")
    calls = ToolCalls()
    calls.feed(piece('{"', "f", index=0))
    for at in range(2, len(text), size):
        assert calls.feed(piece(text[at : at + size], index=0)) == [ToolUse(0, text[at : at + size])]


# --- time ---


def seconds(fragments: Sequence[Any]) -> float:
    began = time.process_time()
    translate(*fragments)
    return time.process_time() - began


def long_call(index: int, count: int, part: str) -> list[dict[str, Any]]:
    return [
        piece('{"a":"', f"f{index}", index=index),
        *(piece(part, index=index) for _ in range(count)),
        piece('"}', index=index),
    ]


@pytest.mark.parametrize("part", ["word ", "}", '\\"', "👍"])
def test_a_long_call_takes_linear_time(part: str) -> None:
    assert seconds(long_call(0, 10_000, part)) < 1.0


@pytest.mark.parametrize("part", ["word ", "}"])
def test_two_long_interleaved_calls_do_not_take_quadratic_time(part: str) -> None:
    pairs = zip(long_call(0, 5000, part), long_call(1, 5000, part), strict=True)
    assert seconds([item for pair in pairs for item in (*pair, Text("t"))]) < 1.0


def test_many_calls_and_arguments_that_are_no_object_do_not_take_quadratic_time() -> None:
    assert seconds([piece("{}", "f", index=number) for number in range(5000)]) < 1.0
    assert seconds([piece("x", "f", index=0) for _ in range(10_000)]) < 1.0


def test_an_id_that_comes_behind_the_arguments_is_the_call_s() -> None:
    calls = ToolCalls()
    assert calls.feed({"index": 0, "function": {"arguments": '{"x"'}}) == []
    out = calls.feed({"index": 0, "id": "c1", "function": {"name": "f", "arguments": ": 1}"}})
    assert out == [ToolUse(0, "", "c1", "f"), ToolUse(0, '{"x": 1}')]


@pytest.mark.parametrize("index", [[], {}, None, "0", 1.5, True])
def test_an_index_that_is_none_in_a_later_piece(index: Any) -> None:
    calls = ToolCalls()
    out = calls.feed({"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"a": '}})
    out += calls.feed({"index": index, "function": {"arguments": "1}"}})
    out += calls.flush()
    assert "".join(delta.arguments for delta in out if isinstance(delta, ToolUse)) == '{"a": 1}'
