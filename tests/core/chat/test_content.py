from __future__ import annotations

from typing import Any

import pytest

from core.chat.content import Content
from core.chat.reasoning import ReasoningField
from core.chat.usage import UsageField
from core.deltas import Delta, State, Text, Thinking, ToolUse, Usage


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def call(arguments: str = "", name: str = "f", index: int = 0, identity: str = "c0") -> list[dict[str, Any]]:
    return [{"index": index, "id": identity, "function": {"name": name, "arguments": arguments}}]


def more(arguments: str, index: int = 0) -> list[dict[str, Any]]:
    return [{"index": index, "function": {"arguments": arguments}}]


def translate(*chunks: dict[str, Any], content: Content | None = None) -> list[Delta]:
    content = content or Content()
    return [*(delta for one in chunks for delta in content.feed(one)), *content.flush()]


START, EMPTY = ToolUse(0, "", "c0", "f"), ToolUse(0, "{}")


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({}, []),
        ({"role": "assistant", "content": ""}, []),
        ({"role": "assistant", "content": None, "reasoning_content": None, "tool_calls": None, "refusal": None}, []),
        ({"content": "a"}, [Text("a")]),
        ({"content": " \n"}, [Text(" \n")]),
        ({"reasoning": "a"}, [Thinking("a")]),
        ({"reasoning_content": "a"}, [Thinking("a")]),
        ({"reasoning": "a", "reasoning_content": "a"}, [Thinking("a")]),
        ({"reasoning": "", "content": ""}, []),
        ({"reasoning": "a", "content": ""}, [Thinking("a")]),
        ({"refusal": "no"}, [Text("no")]),
        ({"content": None, "refusal": "no"}, [Text("no")]),
        ({"tool_calls": []}, []),
        ({"tool_calls": call("{}"), "content": "b", "reasoning": "a"}, [Thinking("a"), Text("b"), START, EMPTY]),
        ({"function_call": {"name": "f", "arguments": "{}"}, "tool_calls": call("{}")}, [START, EMPTY]),
        ({"content": 7, "reasoning": 7, "refusal": {}, "tool_calls": {}, "function_call": "f"}, []),
        ({"tool_calls": [None, "f", 7]}, []),
    ],
)
def test_one_delta(delta: dict[str, Any], expected: list[Delta]) -> None:
    assert translate(chunk(**delta)) == expected


def test_a_legacy_call_is_a_call() -> None:
    found = translate(
        chunk(function_call={"name": "f", "arguments": '{"a"'}), chunk(function_call={"arguments": ":1}"})
    )
    assert isinstance(found[0], ToolUse)
    assert (found[0].name, bool(found[0].id)) == ("f", True)
    assert found[1:] == [ToolUse(0, '{"a"'), ToolUse(0, ":1}")]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], [Text("a"), Text("b")]),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
            [Thinking("ab")],
        ),
        (
            [{"type": "thinking", "thinking": "a", "closed": True}, {"type": "text", "text": "b"}],
            [Thinking("a"), Text("b")],
        ),
        ([{"type": "reasoning", "text": "a"}], [Thinking("a")]),
        ([{"type": "refusal", "refusal": "no"}], [Text("no")]),
        (["a", {"text": "b"}], [Text("a"), Text("b")]),
        ([{"type": "reference", "reference_ids": [1]}, None, 7, [], {"type": "text", "text": None}], []),
        ([{"type": "thinking", "thinking": [{"type": "reference"}, None, "a"]}], [Thinking("a")]),
        ([], []),
    ],
)
def test_content_in_parts(parts: list[Any], expected: list[Delta]) -> None:
    assert translate(chunk(content=parts)) == expected


def test_reasoning_from_the_configured_field_alone() -> None:
    content = Content(ReasoningField("reasoning_content"))
    assert translate(chunk(reasoning="a", reasoning_content="b"), content=content) == [Thinking("b")]


def test_order_is_kept_over_chunks() -> None:
    found = translate(chunk(content="a"), chunk(reasoning="b"), chunk(content="c"))
    assert found == [Text("a"), Thinking("b"), Text("c")]


def test_halves_of_characters_are_put_together() -> None:
    for field, kind in (("content", Text), ("reasoning", Thinking)):
        found = translate(chunk(**{field: "a\ud83d"}), chunk(), chunk(**{field: "\udc4d"}))
        assert found == [kind("a"), kind("👍")]


def test_half_a_character_does_not_wander_behind_what_follows_it() -> None:
    half, lost = chunk(content="\ud83d"), Text("\ufffd")
    assert translate(half) == [lost]
    assert translate(half, chunk(reasoning="a")) == [lost, Thinking("a")]
    assert translate(half, chunk(reasoning=""), chunk(content="\udc4d")) == [Text("👍")]
    assert translate(half, chunk(tool_calls=call("{}"))) == [lost, START, EMPTY]
    assert translate(chunk(reasoning="\ud83d"), chunk(content="a")) == [Thinking("\ufffd"), Text("a")]


def test_text_behind_a_call_comes_behind_it() -> None:
    found = translate(chunk(tool_calls=call("{}")), chunk(content="a"), chunk(reasoning="b"))
    assert found == [START, EMPTY, Text("a"), Thinking("b")]


def test_text_in_the_midst_of_a_call_waits_for_its_end() -> None:
    content = Content()
    assert content.feed(chunk(tool_calls=call('{"a":'))) == [START, ToolUse(0, '{"a":')]
    assert content.feed(chunk(content="b")) == []
    assert content.feed(chunk(tool_calls=more("1}"))) == [ToolUse(0, "1}"), Text("b")]
    assert content.feed(chunk(content="c")) == [Text("c")]
    assert content.flush() == []


def test_text_behind_a_call_that_never_ends_is_not_lost() -> None:
    found = translate(chunk(tool_calls=call('{"a":')), chunk(content="b"), chunk(reasoning="c"))
    assert found == [START, ToolUse(0, '{"a":'), Text("b"), Thinking("c")]


def test_a_call_behind_text_behind_a_call() -> None:
    found = translate(
        chunk(tool_calls=call("{}")),
        chunk(content="\n"),
        chunk(tool_calls=call("{}", "g", 1, "c1")),
        chunk(content="b"),
    )
    assert found == [START, EMPTY, Text("\n"), ToolUse(1, "", "c1", "g"), ToolUse(1, "{}"), Text("b")]


@pytest.mark.parametrize("choices", [{"choices": []}, {}, {"choices": None}, chunk(content="")])
def test_usage_may_be_on_any_chunk(choices: dict[str, Any]) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    assert translate({**choices, "usage": usage}) == [Usage(1, 2)]


def test_usage_follows_the_content_of_its_chunk() -> None:
    assert translate({**chunk(content="a"), "usage": {"prompt_tokens": 1}}) == [Text("a"), Usage(1)]


def test_other_choices_are_nobody_s() -> None:
    choices = [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]
    assert translate({"choices": choices}) == [Text("a")]


def test_flush_gives_nothing_twice() -> None:
    content = Content()
    content.feed(chunk(tool_calls=call("null")))
    content.feed(chunk(content="a\ud83d"))
    assert content.flush() == [EMPTY, Text("a"), Text("\ufffd")]
    assert content.flush() == []


# --- what the engine wants back ---

DETAILS = [
    {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
    {"type": "reasoning.encrypted", "data": "xy", "index": 1},
]
PIECES: list[dict[str, Any]] = [
    {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]},
    {"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]},
    {"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]},
    {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]},
    {"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "index": 1}]},
]
BACK = State({"reasoning_details": DETAILS})


def keeping() -> Content:
    return Content(keep=("reasoning_details",), keep_in_calls=("extra_content",))


@pytest.mark.parametrize(
    ("last", "followed"),
    [
        ({"content": "c"}, [Text("c")]),
        ({"tool_calls": call("{}")}, [START, EMPTY]),
        ({"content": "c", "tool_calls": call("{}")}, [Text("c"), START, EMPTY]),
        ({}, []),
    ],
)
def test_details_come_once_behind_the_reasoning_and_before_what_follows(
    last: dict[str, Any], followed: list[Delta]
) -> None:
    whole = {"reasoning": "ab", "reasoning_details": DETAILS}
    stream = translate(*(chunk(**piece) for piece in PIECES), chunk(**last), content=keeping())
    assert stream == [Thinking("a"), Thinking("b"), BACK, *followed]
    assert translate(chunk(**whole, **last), content=keeping()) == [Thinking("ab"), BACK, *followed]


def test_details_alone_are_reasoning_too() -> None:
    stream = (chunk(reasoning_details=piece["reasoning_details"]) for piece in PIECES)
    assert translate(*stream, chunk(content="c"), content=keeping()) == [
        Thinking("a"),
        Thinking("b"),
        BACK,
        Text("c"),
    ]
    encrypted = chunk(reasoning_details=DETAILS[1:], content="c")
    assert translate(encrypted, content=keeping()) == [State({"reasoning_details": DETAILS[1:]}), Text("c")]


def test_details_that_are_not_asked_for_are_nobody_s() -> None:
    assert translate(chunk(reasoning="ab", reasoning_details=DETAILS, content="c")) == [Thinking("ab"), Text("c")]


def test_details_behind_the_text_come_at_the_end_and_do_not_cut_it() -> None:
    found = translate(chunk(content="a"), chunk(reasoning_details=DETAILS[1:]), chunk(content="b"), content=keeping())
    assert found == [Text("a"), Text("b"), State({"reasoning_details": DETAILS[1:]})]


def test_each_thought_has_its_own_details() -> None:
    def thought(index: int) -> dict[str, Any]:
        return {"reasoning_details": [{"type": "reasoning.text", "text": f"t{index}", "index": index}]}

    found = translate(
        chunk(**thought(0)), chunk(content="a"), chunk(**thought(1)), chunk(content="b"), content=keeping()
    )
    assert found == [Thinking("t0"), State(thought(0)), Text("a"), Thinking("t1"), State(thought(1)), Text("b")]


def test_details_amid_a_call_do_not_cut_it() -> None:
    found = translate(
        chunk(tool_calls=call('{"a":')),
        chunk(reasoning_details=DETAILS[1:]),
        chunk(tool_calls=more("1}")),
        chunk(tool_calls=call("{}", "g", 1, "c1")),
        content=keeping(),
    )
    kinds = [type(delta).__name__ for delta in found]
    assert kinds == ["ToolUse", "ToolUse", "ToolUse", "State", "ToolUse", "ToolUse"]


def test_what_a_call_carries_comes_before_its_start() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "sig"}}}
    calls = [{**call("{}")[0], **extra}, *call("{}", "g", 1, "c1")]
    found = translate(chunk(content="a", tool_calls=calls), content=keeping())
    assert found == [Text("a"), State(calls={"c0": extra}), START, EMPTY, ToolUse(1, "", "c1", "g"), ToolUse(1, "{}")]


def test_counts_may_be_in_a_place_of_the_engine_s_own() -> None:
    content = Content(usage=UsageField("stats", "in", "out"))
    assert list(content.feed({"stats": {"in": 11, "out": 0}})) == [Usage(11)]
    assert list(content.feed({"stats": {"in": 0, "out": 0}})) == []
    assert list(content.feed({"stats": {"in": 0, "out": 22}})) == [Usage(11, 22)]
    # A count of tokens comes in the usual place, whoever counted.
    assert list(Content(usage=lambda _: None).feed({"usage": {"prompt_tokens": 7}})) == [Usage(7)]
