from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.demo import tokens
from plugins.demo.engine import answer, count, first_stop

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def body(text: str = "Count to 10.", **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **fields}


def whole(text: str = "Count to 10.", **fields: Any) -> dict[str, Any]:
    reply = answer(body(text, **fields))
    assert reply.status == 200
    (completion,) = reply.objects
    return completion


def test_it_reasons_and_answers() -> None:
    completion = whole()
    message = completion["choices"][0]["message"]
    assert message["content"] == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
    assert message["reasoning_content"] == "The user wants the numbers from 1 to 10."
    spent = tokens.count(message["content"]) + tokens.count(message["reasoning_content"])
    assert completion["usage"]["completion_tokens"] == spent


def test_without_reasoning() -> None:
    completion = whole(reasoning_effort="none")
    assert "reasoning_content" not in completion["choices"][0]["message"]
    assert completion["usage"]["completion_tokens_details"] == {"reasoning_tokens": 0}


def test_a_stop_string_cuts_the_text_and_is_reported() -> None:
    choice = whole(stop=["7", ", 5"])["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("1, 2, 3, 4", "stop")
    assert choice["stop_reason"] == ", 5"


def test_a_stop_string_in_the_reasoning_does_not_count() -> None:
    choice = whole(stop="wants")["choices"][0]
    assert (choice["message"]["content"][-2:], choice["stop_reason"]) == ("10", None)


@pytest.mark.parametrize(
    ("stops", "found"),
    [(("b", "abcd"), (2, "b")), (("bc", "abc"), (3, "abc")), (("x",), (0, None)), (("cd", "ab"), (2, "ab"))],
)
def test_the_first_stop_is_the_one_complete_first(stops: tuple[str, ...], found: tuple[int, str | None]) -> None:
    assert first_stop("abcd", stops) == found


def test_the_limit_counts_reasoning_too() -> None:
    completion = whole(max_tokens=12)
    assert completion["choices"][0]["message"]["content"] == "1,"
    assert completion["choices"][0]["finish_reason"] == "length"
    assert completion["usage"]["completion_tokens"] == 12


def test_a_limit_of_just_enough_is_no_cut() -> None:
    spent = whole()["usage"]["completion_tokens"]
    assert whole(max_tokens=spent)["choices"][0]["finish_reason"] == "stop"
    assert whole(max_tokens=spent - 1)["choices"][0]["finish_reason"] == "length"


def test_a_tool_call_that_does_not_fit_is_not_made() -> None:
    choice = whole("weather in Oslo?", tools=[WEATHER])["choices"][0]
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"city":"Oslo"}'
    assert choice["finish_reason"] == "tool_calls"
    spent = whole("weather in Oslo?", tools=[WEATHER])["usage"]["completion_tokens"]
    cut = whole("weather in Oslo?", tools=[WEATHER], max_tokens=spent - 1)
    assert "tool_calls" not in cut["choices"][0]["message"]
    assert (cut["choices"][0]["finish_reason"], cut["usage"]["completion_tokens"]) == ("length", spent - 1)


def test_the_same_body_gives_the_same_answer_and_another_other_ids() -> None:
    assert whole() == whole()
    assert whole()["id"] != whole("Count to 11.")["id"]


def test_refusals_are_bodies() -> None:
    reply = answer({"messages": []})
    assert (reply.status, reply.objects[0]["error"]["param"]) == (400, "messages")


def test_count() -> None:
    wrong: tuple[Any, ...] = ({}, [], None)
    assert count(body()).objects[0]["usage"]["prompt_tokens"] == whole()["usage"]["prompt_tokens"]
    assert [count(one).status for one in wrong] == [400, 400, 400]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["Count to 12", "Say: a\u00e9\U0001f642b", "weather in Oslo", "call get_weather"]
)
ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
MESSAGES = st.lists(st.fixed_dictionaries({"role": ROLES, "content": TEXTS | JSON}) | JSON, max_size=4)
FIELDS = {
    "messages": MESSAGES,
    "stream": st.booleans(),
    "stream_options": st.just({"include_usage": True}) | JSON,
    "stop": st.text(max_size=2) | st.lists(st.text(max_size=2), max_size=3) | JSON,
    "max_tokens": st.integers(-1, 60) | JSON,
    "tools": st.lists(st.just(WEATHER) | JSON, max_size=2) | JSON,
    "tool_choice": st.sampled_from(["auto", "required", "none"]) | JSON,
    "response_format": st.fixed_dictionaries({"json_schema": st.fixed_dictionaries({"schema": JSON})}) | JSON,
    "reasoning_effort": JSON,
    "chat_template_kwargs": st.fixed_dictionaries({"enable_thinking": JSON}) | JSON,
}


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional=FIELDS) | JSON)
def test_any_body_is_answered(value: Any) -> None:
    reply = answer(value)
    assert reply.status in {200, 400}
    assert orjson.dumps(reply.objects)
    assert ("error" in reply.objects[0]) is (reply.status == 400)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 60) | st.none(), st.lists(st.text(min_size=1, max_size=2), max_size=2))
def test_a_stream_says_what_the_completion_says(text: str, limit: int | None, stops: list[str]) -> None:
    fields = {"max_tokens": limit, "stop": stops, "tools": [WEATHER]}
    one = whole(text, **fields)
    chunks = answer(body(text, stream=True, stream_options={"include_usage": True}, **fields)).objects
    choices = [chunk["choices"][0] for chunk in chunks[:-1]]
    for field in ("content", "reasoning_content"):
        joined = "".join(choice["delta"].get(field, "") for choice in choices)
        assert joined == (one["choices"][0]["message"].get(field) or "")
    assert chunks[-1]["usage"] == one["usage"]
    assert all(choices[-1][key] == one["choices"][0][key] for key in ("finish_reason", "stop_reason"))
    assert all(stop not in (one["choices"][0]["message"]["content"] or "") for stop in stops)
