from typing import Any

import pytest

from plugins.demo.ask import read
from plugins.demo.speech import FURTHEST, draft


def said(text: str, **fields: Any) -> str:
    return draft(read({"messages": [{"role": "user", "content": text}], **fields})).content


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Count to 10.", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
        ("please count from 7 to 9", "7, 8, 9"),
        ("Can you count up to 3?", "1, 2, 3"),
        ("Count from 2 to -1", "2, 1, 0, -1"),
        ("Say: Hello,  world!\n", "Hello,  world!\n"),
        ("Repeat: a\nb", "a\nb"),
        ("echo:x", "x"),
        ("Some context.\n\nSay: that", "that"),
        ("Say: ", ""),
    ],
)
def test_answers(text: str, answer: str) -> None:
    assert said(text) == answer


def test_counting_has_an_end() -> None:
    assert said(f"Count to {FURTHEST}").endswith(str(FURTHEST))
    assert "too far" in said(f"Count to {FURTHEST + 1}")


def test_anything_else_is_quoted() -> None:
    assert "“What is love”" in said("What is love")
    assert "“" + "a " * 11 + "a…”" in said("a " * 50)


def test_nothing_is_greeted() -> None:
    assert said(" ").startswith("Hello!")


def test_a_tool_result_is_told() -> None:
    messages = [{"role": "user", "content": "?"}, {"role": "tool", "content": "sunny"}]
    assert draft(read({"messages": messages})).content == "The tool says: sunny"


def test_a_tool_call_says_nothing() -> None:
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    made = draft(read({"messages": [{"role": "user", "content": "weather?"}], "tools": tools}))
    assert (made.content, [call.name for call in made.calls]) == ("", ["get_weather"])
    assert "get_weather" in made.reasoning


def test_a_schema_is_kept_to() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    wanted = {"type": "json_schema", "json_schema": {"schema": schema}}
    assert said("A fine day", response_format=wanted) == '{"title":"A fine day"}'


def test_it_always_reasons() -> None:
    for text in ("Count to 3", "Say: x", "", "Hello"):
        assert draft(read({"messages": [{"role": "user", "content": text}]})).reasoning.endswith(".")
