from typing import Any

import orjson
import pytest

from plugins.demo.ask import read
from plugins.demo.tools import tool_calls

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [tool("get_weather", CITY), tool("get_time", CITY), tool("Read", PATH)]


def called(text: str, **fields: Any) -> list[tuple[str, Any]]:
    body = {"messages": [{"role": "user", "content": text}], "tools": TOOLS, **fields}
    return [(call.name, orjson.loads(call.arguments)) for call in tool_calls(read(body))]


def test_weather_goes_to_the_weather_tool() -> None:
    assert called("What is the weather in Paris?") == [("get_weather", {"city": "Paris"})]


def test_named_tools_are_called_in_the_order_of_the_prompt() -> None:
    text = "Call get_time with city Oslo and get_weather with city New York."
    assert called(text) == [("get_time", {"city": "Oslo"}), ("get_weather", {"city": "New York"})]
    assert called(text, parallel_tool_calls=False) == [("get_time", {"city": "Oslo"})]


def test_a_name_inside_a_longer_word_is_none() -> None:
    assert called("forget_timeout") == []


@pytest.mark.parametrize("text", ["Use Read with path a.py", "Call the Read tool", "Use `Read`."])
def test_a_name_that_is_a_word_counts_where_it_is_called(text: str) -> None:
    assert [name for name, _ in called(text)] == ["Read"]


def test_a_name_that_is_a_word_does_not_count_elsewhere() -> None:
    assert called("Read me a story.") == []


def test_tool_choice_is_obeyed() -> None:
    named = {"type": "function", "function": {"name": "Read"}}
    assert called("Hello", tool_choice="required") == [("get_weather", {"city": "Hello"})]
    assert called("What is the weather in Paris?", tool_choice=named)[0][0] == "Read"
    assert called("What is the weather in Paris?", tool_choice="none") == []


def test_arguments_that_are_no_json_are_left_out() -> None:
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep}
    tools = [tool("odd", {"type": "object", "properties": {"x": {"const": deep}}, "required": ["x"]})]
    assert called("use odd", tools=tools) == [("odd", {})]
