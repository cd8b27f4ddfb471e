from typing import Any

import pytest

from plugins.demo import tokens
from plugins.demo.ask import MESSAGE_TOKENS, RefusedError, prompt_tokens, read, without_notes

USER = {"role": "user", "content": "Hi there."}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def body(**fields: Any) -> dict[str, Any]:
    return {"messages": [USER], **fields}


def test_defaults() -> None:
    ask = read(body())
    assert (ask.model, ask.text, ask.results, ask.tools, ask.forced) == ("demo", "Hi there.", (), (), None)
    assert (ask.stops, ask.limit, ask.thinking, ask.stream, ask.include_usage) == ((), None, True, False, False)


def test_prompt_tokens_count_messages_and_tools() -> None:
    words = sum(map(tokens.count, ["role", "user", "content", "Hi there."]))
    assert prompt_tokens(body()) == words + MESSAGE_TOKENS
    assert prompt_tokens(body(tools=[TOOL])) > prompt_tokens(body())


def test_text_of_parts_is_joined_and_pictures_are_passed_over() -> None:
    parts = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "b"},
    ]
    assert read({"messages": [{"role": "user", "content": parts}]}).text == "a\nb"


def test_the_last_user_message_is_answered() -> None:
    messages = [USER, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Bye."}]
    assert read({"messages": messages}).text == "Bye."


@pytest.mark.parametrize(
    "trailing",
    [[], [{"role": "user", "content": "<system-reminder>x</system-reminder>"}], [{"role": "system", "content": "s"}]],
)
def test_results_are_those_that_end_the_conversation(trailing: list[dict[str, Any]]) -> None:
    call: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": []}
    messages = [
        USER,
        call,
        {"role": "tool", "content": "old"},
        call,
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
    ]
    ask = read({"messages": messages + trailing})
    assert (ask.text, ask.results) == ("Hi there.", ("1", "2"))


def test_a_user_message_after_the_results_is_answered_instead() -> None:
    ask = read({"messages": [USER, {"role": "tool", "content": "old"}, {"role": "user", "content": "And now?"}]})
    assert (ask.text, ask.results) == ("And now?", ())


def test_notes_are_taken_out() -> None:
    note = "<system-reminder>Use the Read tool.</system-reminder>"
    assert without_notes(f"{note}\nSay: hi{note}") == "Say: hi"
    assert without_notes("Say: hi \n") == "Say: hi \n"
    assert without_notes("<system-reminder>open") == "<system-reminder>open"


@pytest.mark.parametrize(
    ("fields", "thinking"),
    [
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "high"}, True),
        ({"chat_template_kwargs": {"enable_thinking": False}}, False),
        ({"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "none"}, True),
        ({"chat_template_kwargs": 3}, True),
    ],
)
def test_the_reasoning_switches(fields: dict[str, Any], thinking: bool) -> None:
    assert read(body(**fields)).thinking is thinking


def test_tool_choice() -> None:
    assert read(body(tools=[TOOL])).forced is None
    assert read(body(tools=[TOOL], tool_choice="required")).forced == ""
    assert read(body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "f"}})).forced == "f"
    assert read(body(tools=[TOOL], tool_choice="none")).tools == ()


def test_max_completion_tokens_wins() -> None:
    assert read(body(max_tokens=5)).limit == 5
    assert read(body(max_tokens=5, max_completion_tokens=7)).limit == 7


def test_schema() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "r", "schema": {"type": "object"}}}
    assert read(body(response_format=wanted)).schema == {"type": "object"}
    assert read(body(response_format={"type": "text"})).schema is None


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": [USER, 1]}, "messages[1]"),
        ({"messages": [{"content": "x"}]}, "messages[0]"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_completion_tokens": "5"}, "max_completion_tokens"),
        ({"stop": ["a", ""]}, "stop"),
        ({"stop": 5}, "stop"),
        ({"tools": {"a": 1}}, "tools"),
        ({"tools": [TOOL, {"type": "function"}]}, "tools[1]"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
    ],
)
def test_what_is_refused_is_named(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read(body(**wrong))
    error = caught.value.body()["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert error["message"]


def test_a_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(RefusedError, match="JSON object"):
        read([])
