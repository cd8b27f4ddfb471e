from __future__ import annotations

from typing import Any, Literal

import attrs
import pytest

from core.chat.dialect import Dialect
from core.chat.messages import chat_messages
from core.errors import RequestError
from core.request import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    Request,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)

DATA = ImageBlock("image/png", data="AAAA")
DATA_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
HI = {"role": "user", "content": "hi"}
CALL = ToolUseBlock("c0", "f", {"a": 1})
SENT_CALL = {"id": "c0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
REMINDER = "<system-reminder>\nbe kind\n</system-reminder>"


def turn(role: Role, *content: Block | str) -> Message:
    return Message(role, tuple(TextBlock(block) if isinstance(block, str) else block for block in content))


def user(*content: Block | str) -> Message:
    return turn("user", *content)


def model(*content: Block | str) -> Message:
    return turn("assistant", *content)


def system(*content: Block | str) -> Message:
    return turn("system", *content)


def sent(*turns: Message, dialect: Dialect | None = None, prompt: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    request = Request("message", messages=turns, system=tuple(map(TextBlock, prompt)))
    return chat_messages(request, dialect or Dialect())


# --- the system prompt ---


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [((), None), (("",), None), (("", ""), None), (("a",), "a"), (("a", "b"), "a\n\nb"), (("a", "", "b"), "a\n\nb")],
)
def test_the_system_prompt(prompt: tuple[str, ...], expected: str | None) -> None:
    first = [] if expected is None else [{"role": "system", "content": expected}]
    assert sent(user("hi"), prompt=prompt) == [*first, HI]


def test_the_system_prompt_s_role_is_the_dialect_s() -> None:
    assert sent(user("hi"), prompt=("a",), dialect=Dialect(system_role="developer"))[0]["role"] == "developer"


# --- a system turn among the messages ---

LATE: list[tuple[Literal["fold", "keep", "hoist"], list[dict[str, Any]]]] = [
    ("fold", [HI, {"role": "assistant", "content": "a"}, {"role": "user", "content": f"{REMINDER}\n\nb"}]),
    (
        "keep",
        [
            HI,
            {"role": "assistant", "content": "a"},
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "b"},
        ],
    ),
    (
        "hoist",
        [
            {"role": "system", "content": "be kind"},
            HI,
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "b"},
        ],
    ),
]


@pytest.mark.parametrize(("late", "expected"), LATE)
def test_a_late_system_turn(late: Literal["fold", "keep", "hoist"], expected: list[dict[str, Any]]) -> None:
    turns = (user("hi"), model("a"), system("be kind"), user("b"))
    assert sent(*turns, dialect=Dialect(late_system=late)) == expected


@pytest.mark.parametrize(
    ("late", "last"),
    [
        ("fold", {"role": "user", "content": f"hi\n\n{REMINDER}"}),
        ("keep", {"role": "system", "content": "be kind"}),
        ("hoist", HI),
    ],
)
def test_a_system_turn_as_the_last_message(late: Literal["fold", "keep", "hoist"], last: dict[str, Any]) -> None:
    assert sent(user("hi"), system("be kind"), dialect=Dialect(late_system=late))[-1] == last


def test_a_folded_system_turn_as_the_first_or_only_message() -> None:
    assert sent(system("be kind")) == [{"role": "user", "content": REMINDER}]
    assert sent(system("be kind"), user("hi")) == [{"role": "user", "content": f"{REMINDER}\n\nhi"}]


def test_a_hoisted_system_turn_stands_behind_the_prompt() -> None:
    found = sent(user("hi"), system("b"), prompt=("a",), dialect=Dialect(late_system="hoist"))
    assert found[0] == {"role": "system", "content": "a\n\nb"}


def test_a_system_turn_does_not_come_between_a_call_and_its_result() -> None:
    found = sent(user("hi"), model(CALL), system("be kind"), user(ToolResultBlock("c0", (TextBlock("r"),))))
    assert [message["role"] for message in found] == ["user", "assistant", "tool", "user"]


def test_braces_in_a_system_turn_stay() -> None:
    assert sent(system("{} {0} {x}"))[0]["content"] == "<system-reminder>\n{} {0} {x}\n</system-reminder>"


@pytest.mark.parametrize("late", ["fold", "keep", "hoist"])
def test_an_empty_system_turn_is_none(late: Literal["fold", "keep", "hoist"]) -> None:
    for empty in (system(), system("")):
        assert sent(model("a"), empty, model("b"), dialect=Dialect(late_system=late)) == [
            {"role": "assistant", "content": "ab"}
        ]


# --- turns ---


def test_neighbours_of_one_role_are_merged() -> None:
    found = sent(user("a"), user("b", "c"), model("d"), model("e", CALL), user("f"))
    assert found == [
        {"role": "user", "content": "a\n\nb\n\nc"},
        {"role": "assistant", "content": "de", "tool_calls": [SENT_CALL]},
        {"role": "user", "content": "f"},
    ]


@pytest.mark.parametrize(
    "empty", [(), ("",), (ThinkingBlock("t"),), (RedactedThinkingBlock("r"), ""), (OtherBlock("x", {}),)]
)
def test_an_empty_assistant_turn_is_dropped_and_its_neighbours_meet(empty: tuple[Block | str, ...]) -> None:
    assert sent(user("a"), model(*empty), user("b")) == [{"role": "user", "content": "a\n\nb"}]


def test_an_empty_user_turn_is_dropped_and_its_neighbours_meet() -> None:
    assert sent(model("a"), user(""), user(ThinkingBlock("t")), model("b")) == [{"role": "assistant", "content": "ab"}]


def test_text_alone_is_a_string_and_pictures_make_parts_in_their_order() -> None:
    assert sent(user("a", "b")) == [{"role": "user", "content": "a\n\nb"}]
    assert sent(user("a", DATA, "b", ImageBlock(url="https://x/y.png"))) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                DATA_PART,
                {"type": "text", "text": "b"},
                {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            ],
        }
    ]


def test_a_last_assistant_turn_stays_last() -> None:
    assert sent(user("hi"), model("The answer is"))[-1] == {"role": "assistant", "content": "The answer is"}


# --- calls ---


def test_a_turn_of_calls_alone_has_content_null() -> None:
    assert sent(model(CALL, ToolUseBlock("c1", "g"))) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [SENT_CALL, {"id": "c1", "type": "function", "function": {"name": "g", "arguments": "{}"}}],
        }
    ]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("", {"role": "assistant", "content": "a"}),
        ("reasoning", {"role": "assistant", "content": "a", "reasoning": "t1t2"}),
        ("reasoning_content", {"role": "assistant", "content": "a", "reasoning_content": "t1t2"}),
    ],
)
def test_earlier_thinking_goes_where_the_dialect_wants_it_and_is_never_text(
    field: Literal["", "reasoning", "reasoning_content"], expected: dict[str, Any]
) -> None:
    turns = (model(ThinkingBlock("t1", "sig"), RedactedThinkingBlock("r"), ThinkingBlock("t2"), "a"),)
    assert sent(*turns, dialect=Dialect(reasoning_history=field)) == [expected]


def test_a_call_keeps_its_thinking() -> None:
    found = sent(model(ThinkingBlock("t"), CALL), dialect=Dialect(reasoning_history="reasoning"))
    assert found == [{"role": "assistant", "content": None, "reasoning": "t", "tool_calls": [SENT_CALL]}]


# --- results ---


def test_results_come_first_whatever_their_place() -> None:
    results = (ToolResultBlock("c1", (TextBlock("r1"),)), ToolResultBlock("c0", (TextBlock("r0"),)))
    assert sent(user("a", results[0], "b", results[1])) == [
        {"role": "tool", "tool_call_id": "c1", "content": "r1"},
        {"role": "tool", "tool_call_id": "c0", "content": "r0"},
        {"role": "user", "content": "a\n\nb"},
    ]


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (ToolResultBlock("c0"), ""),
        (ToolResultBlock("c0", (TextBlock(""),)), ""),
        (ToolResultBlock("c0", (TextBlock("a"), TextBlock("b"))), "a\nb"),
        (ToolResultBlock("c0", (TextBlock("a"),), is_error=True), "Error: a"),
        (ToolResultBlock("c0", (), is_error=True), "Error: "),
        (ToolResultBlock("c0", (ToolReferenceBlock("f"),)), "Tool f is now available."),
        (ToolResultBlock("c0", (OtherBlock("new", {"type": "new"}),)), '{"type":"new"}'),
        (ToolResultBlock("c0", (DocumentBlock(text="d", title="T"),)), "T\nd"),
    ],
)
def test_a_result_is_a_string(block: ToolResultBlock, content: str) -> None:
    assert sent(user(block)) == [{"role": "tool", "tool_call_id": "c0", "content": content}]


def test_pictures_of_results_follow_in_a_user_s_turn_with_their_call_s_id() -> None:
    found = sent(user("a", ToolResultBlock("c0", (TextBlock("r"), DATA)), ToolResultBlock("c1", (DATA,))))
    label = "Shown by the result of tool call {}:"
    assert found == [
        {"role": "tool", "tool_call_id": "c0", "content": "r"},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": label.format("c0")},
                DATA_PART,
                {"type": "text", "text": label.format("c1")},
                DATA_PART,
                {"type": "text", "text": "a"},
            ],
        },
    ]


# --- refusals ---


@pytest.mark.parametrize(
    ("turns", "place"),
    [
        ((model(DATA),), "messages.0.content.0: "),
        ((user("a"), system("s"), model("b", DocumentBlock(text="d"))), "messages.2.content.1: "),
        ((model(""), user("", ImageBlock(file_id="f"))), "messages.1.content.1.source: "),
        (
            (user(ToolResultBlock("c0", (TextBlock("a"), ImageBlock(file_id="f")))),),
            "messages.0.content.0.content.1.source: ",
        ),
    ],
)
def test_a_fault_is_told_with_the_place_in_the_client_s_request(turns: tuple[Message, ...], place: str) -> None:
    for late in ("fold", "keep", "hoist"):
        with pytest.raises(RequestError) as caught:
            sent(*turns, dialect=attrs.evolve(Dialect(), late_system=late))
        assert caught.value.message.startswith(place)
