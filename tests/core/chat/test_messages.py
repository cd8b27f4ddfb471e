from __future__ import annotations

import re
from itertools import chain, count, pairwise
from typing import Any, Literal

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_a_kept_system_turn_does_not_come_between_them_either() -> None:
    result = ToolResultBlock("c0", (TextBlock("r"),))
    for turns in ((system("be kind"), user(result, "a")), (user("b"), system("be kind"), user(result))):
        found = sent(user("hi"), model(CALL), *turns, dialect=Dialect(late_system="keep"))
        assert [message["role"] for message in found][:3] == ["user", "assistant", "tool"]
        assert {"role": "system", "content": "be kind"} in found[3:]


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
    "empty",
    [
        (),
        ("",),
        (ThinkingBlock("t"),),
        (RedactedThinkingBlock("r"), ""),
        (OtherBlock("x", {}),),
        (OtherBlock("x", {"text": ""}),),
    ],
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


# --- results ---


def results(*names: str) -> list[ToolResultBlock]:
    return [ToolResultBlock(name, (TextBlock(f"r {name}"),)) for name in names]


def test_results_come_first_in_the_order_of_their_calls() -> None:
    first, second, orphan = results("c1", "c0", "x")
    found = sent(model(CALL, ToolUseBlock("c1", "g")), user("a", orphan, first, "b", second))
    assert found[1:] == [
        {"role": "tool", "tool_call_id": "c0", "content": "r c0"},
        {"role": "tool", "tool_call_id": "c1", "content": "r c1"},
        {"role": "tool", "tool_call_id": "x", "content": "r x"},
        {"role": "user", "content": "a\n\nb"},
    ]


def test_what_a_result_shows_comes_before_the_rest_of_the_turn() -> None:
    found = sent(model(CALL), user("a", ToolResultBlock("c0", (TextBlock("r"), DATA))))
    assert found[1] == {"role": "tool", "tool_call_id": "c0", "content": "r"}
    assert [part.get("text", "image") for part in found[2]["content"]] == [
        "Shown by the result of tool call c0:",
        "image",
        "a",
    ]


def test_a_bridge_stands_between_results_and_a_user_s_turn() -> None:
    bridged = Dialect(user_after_tool="bridge")
    call, (result,) = model(CALL), results("c0")
    assert [each["role"] for each in sent(call, user(result), dialect=bridged)] == ["assistant", "tool"]
    found = sent(call, user(result, "a"), model("b"), user("c"), dialect=bridged)
    assert [each["role"] for each in found] == ["assistant", "tool", "assistant", "user", "assistant", "user"]
    assert found[2]["content"] == "OK."
    shown = user(ToolResultBlock("c0", (DATA,)))
    assert [each["role"] for each in sent(call, shown, dialect=bridged)] == ["assistant", "tool", "assistant", "user"]


def test_calls_and_results_go_under_the_same_id() -> None:
    strict = Dialect(tool_id_pattern="[a-zA-Z0-9]{9}")
    turns = (model(CALL), user(*results("c0")), model(ToolUseBlock("abcDEF123", "f")), user(*results("abcDEF123")))
    call, result, kept, answered = sent(*turns, dialect=strict)
    assert call["tool_calls"][0]["id"] == result["tool_call_id"] != "c0"
    assert kept["tool_calls"][0]["id"] == answered["tool_call_id"] == "abcDEF123"


# --- structured output ---


def test_a_schema_is_put_into_the_prompt_where_there_is_no_field_for_it() -> None:
    request = Request("message", messages=(user("hi"),), system=(TextBlock("s"),), output_schema={"type": "object"})
    prompt, hi = chat_messages(request, Dialect(response_format="none"))
    assert prompt["content"].startswith("s\n\nAnswer with one JSON value")
    assert prompt["content"].endswith('no code fence.\n{"type":"object"}')
    assert hi == HI
    assert chat_messages(request, Dialect())[0]["content"] == "s"


# --- nothing is lost ---


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[Message], list[list[str]]]:
    """Turns with numbered texts, and the texts of each section (what stands between two roles) as they must come out."""
    turns: list[Message] = []
    expected: list[list[str]] = []
    calls: list[str] = []
    numbers = count()

    def texts(most: int) -> list[str]:
        return [f"<{next(numbers)}>" for _ in range(draw(st.integers(1, most)))]

    for number in range(draw(st.integers(1, 5))):
        given_results: dict[str, list[str]] = {call: texts(2) for call in calls}
        blocks: list[Block] = [
            ToolResultBlock(call, tuple(map(TextBlock, said)), draw(st.booleans()))
            for call, said in draw(st.permutations(list(given_results.items())))
        ]
        said, late = texts(3), texts(1) if draw(st.booleans()) else []
        place = draw(st.integers(0, len(blocks)))
        blocks[place:place] = [TextBlock(said[0]), *(DocumentBlock(text=text) for text in said[1:])]
        cut = draw(st.integers(0, len(blocks)))
        turns += [user(*blocks[:cut]), user(*blocks[cut:]), system(*late)]
        expected.append([*chain(*given_results.values()), *said, *late])
        said = texts(3)
        calls = [f"c{number} {at}" for at in range(draw(st.integers(0, 2)))]
        turns += [model(*said[:1]), model(*said[1:], *(ToolUseBlock(call, "f", {"t": "x"}) for call in calls))]
        expected.append(said)
    return turns, expected


DIALECTS = [
    Dialect(),
    Dialect(late_system="keep", tool_content="parts"),
    Dialect(
        tool_id_pattern="[a-z0-9]{9}", user_after_tool="bridge", reasoning_history="parts", reasoning_required=True
    ),
]


@given(conversations(), st.sampled_from(DIALECTS))
def test_every_text_comes_out_once_and_in_order(case: tuple[list[Message], list[list[str]]], dialect: Dialect) -> None:
    turns, expected = case
    found = sent(*turns, dialect=dialect)
    assert re.findall(r"<\d+>", orjson.dumps(found).decode()) == [*chain(*expected)]
    if dialect.user_after_tool == "ok":
        assert all(one["role"] != other["role"] for one, other in pairwise(found) if one["role"] != "tool")
    for before, message in pairwise([{"role": ""}, *found]):
        assert message["role"] != "tool" or before["role"] == "tool" or "tool_calls" in before


# --- refusals ---


@pytest.mark.parametrize(
    ("turns", "place"),
    [
        ((model(DATA),), "messages.0.content.0: "),
        ((user("a"), system("s"), model("b", DocumentBlock(content=(DATA,)))), "messages.2.content.1: "),
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


def test_only_the_user_s_last_turn_is_refused_for_what_cannot_be_sent() -> None:
    textual = Dialect(images="none")
    note = "[An image was here that cannot be shown: this model takes no images]"
    link = DocumentBlock(url="https://host/a.pdf")
    first, _, second = sent(user(DATA, "a"), model("b"), user(link), user("c"), dialect=textual)
    assert first == {"role": "user", "content": f"{note}\n\na"}
    assert second["content"].startswith("[A document was here that cannot be read: a document by URL is not fetched")
    for turns in ((user("a"), user(DATA)), (user(DATA), model("b")), (user("a"), user(link), system("s"))):
        with pytest.raises(RequestError, match=r"^messages\.[01]\.content\.0\.source: "):
            sent(*turns, dialect=textual)
