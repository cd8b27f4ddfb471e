from typing import Any

from plugins.demo.ask import Ask, read
from plugins.demo.shape import Answer, chunks, completion, usage
from plugins.demo.tools import ToolCall


def ask(**fields: Any) -> Ask:
    return read({"messages": [{"role": "user", "content": "x"}], "model": "m", **fields})


CALLS = (ToolCall("f", '{"a":1}'), ToolCall("g", "{}"))
ANSWER = Answer("abc", "I think so.", "One two three four.", CALLS, "tool_calls", None, 20, 4)


def test_a_completion_holds_everything() -> None:
    whole = completion(ask(), ANSWER)
    message = whole["choices"][0]["message"]
    assert (whole["object"], whole["model"]) == ("chat.completion", "m")
    assert (message["reasoning_content"], message["content"]) == ("I think so.", "One two three four.")
    assert [call["function"] for call in message["tool_calls"]] == [
        {"name": "f", "arguments": '{"a":1}'},
        {"name": "g", "arguments": "{}"},
    ]
    assert whole["usage"]["completion_tokens"] == 20


def test_content_is_null_beside_calls_alone() -> None:
    message = completion(ask(), Answer("abc", "", "", CALLS, "tool_calls", None, 1, 0))["choices"][0]["message"]
    assert message["content"] is None
    assert "reasoning_content" not in message


def test_the_chunks_join_to_the_completion() -> None:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(ask(), ANSWER)]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "I think so."
    assert "".join(delta.get("content", "") for delta in deltas) == "One two three four."
    pieces = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    for number, call in enumerate(CALLS):
        mine = [piece for piece in pieces if piece["index"] == number]
        assert mine[0]["function"]["name"] == call.name
        assert "".join(piece["function"]["arguments"] for piece in mine) == call.arguments
        assert [("id" in piece) for piece in mine] == [True] + [False] * (len(mine) - 1)


def test_only_the_last_choice_finishes() -> None:
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks(ask(), ANSWER)]
    assert reasons == [None] * (len(reasons) - 1) + ["tool_calls"]


def test_usage_comes_last_and_only_when_asked_for() -> None:
    assert not any("usage" in chunk for chunk in chunks(ask(), ANSWER))
    last = chunks(ask(stream_options={"include_usage": True}), ANSWER)[-1]
    assert last["choices"] == []
    assert last["usage"] == completion(ask(), ANSWER)["usage"]


def test_the_stop_string_is_reported() -> None:
    stopped = Answer("abc", "", "One", (), "stop", "two", 2, 0)
    assert completion(ask(), stopped)["choices"][0]["stop_reason"] == "two"
    assert chunks(ask(), stopped)[-1]["choices"][0]["stop_reason"] == "two"
    assert completion(ask(), ANSWER)["choices"][0]["stop_reason"] is None


def test_usage_adds_up() -> None:
    assert usage(3, 5, 2) == {
        "prompt_tokens": 3,
        "completion_tokens": 5,
        "total_tokens": 8,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
