"""What the TypeScript SDK saw."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import LISTED
from tests.clients.stage import TOKENS, Stage

Report = dict[str, Any]


def parts(message: Any) -> list[Any]:
    """The substance of each block."""
    return [block.get("thinking") or block.get("text") or block.get("input") for block in message["content"]]


@pytest.mark.parametrize("scene", ["create", "stream"])
def test_an_answer(report: Report, scene: str) -> None:
    message = report[scene]["message"]
    assert parts(message) == ["Hm.", "Two words"]
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]
    assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (11, 7)
    assert message["model"] == f"vllm-ts-{scene}"


def test_the_response_around_an_answer(report: Report) -> None:
    assert report["create"]["type"] == "application/json"
    assert report["create"]["id"].startswith("req_")


def test_the_helper_gives_text_as_it_comes(report: Report) -> None:
    texts = report["stream"]["texts"]
    assert "".join(texts) == "Two words"
    assert all(texts)


def test_raw_events(report: Report) -> None:
    events = [event["type"] for event in report["events"]["events"] if event["type"] != "content_block_delta"]
    block = ["content_block_start", "content_block_stop"]
    assert events == ["message_start", *block, *block, "message_delta", "message_stop"]


def test_a_tool_is_called_and_answered(report: Report, stage: Stage) -> None:
    first, second = report["tool"]["first"], report["tool"]["second"]
    assert (first["stop_reason"], parts(first)) == ("tool_use", [{"city": "Zürich"}])
    assert parts(second) == ["Sunny."]
    _, asked, told = stage.bodies("ollama-ts-tool")[1]["messages"]
    assert told == {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "sun"}


def test_the_tool_runner(report: Report, stage: Stage) -> None:
    assert parts(report["runner"]["message"]) == ["3 and 7."]
    first, second = stage.bodies("vllm-ts-runner")
    question, called, *results = second["messages"]
    assert [question] == first["messages"]
    assert [call["id"] for call in called["tool_calls"]] == [result["tool_call_id"] for result in results]
    assert [(result["role"], result["content"]) for result in results] == [("tool", "3"), ("tool", "7")]


def test_parse(report: Report, stage: Stage) -> None:
    assert report["parse"]["parsed"] == {"name": "Bern", "people": 134000}
    (body,) = stage.bodies("vllm-ts-parse")
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["name", "people"]


def test_tokens_are_counted(report: Report) -> None:
    assert report["count"] == {"input_tokens": TOKENS}


def test_models(report: Report) -> None:
    assert report["models"]["ids"] == list(LISTED)
    assert report["models"]["one"]["id"] == "org/two"


@pytest.mark.parametrize(
    ("scene", "name", "status", "kind", "retry_after"),
    [
        ("refused", "BadRequestError", 400, "invalid_request_error", None),
        ("busy", "RateLimitError", 429, "rate_limit_error", "7"),
        ("unknown", "NotFoundError", 404, "not_found_error", None),
    ],
)
def test_an_error(report: Report, scene: str, name: str, status: int, kind: str, retry_after: str | None) -> None:
    error = report[scene]
    assert (error["error"], error["status"], error["type"], error["retryAfter"]) == (name, status, kind, retry_after)
    assert error["requestID"].startswith("req_")


def test_a_stream_that_breaks(report: Report) -> None:
    error = report["broken"]
    assert (error["error"], error["type"]) == ("APIError", "api_error")
    assert "out of memory" in error["message"]


def test_the_sdk_tries_again(report: Report, stage: Stage) -> None:
    assert parts(report["again"]["message"]) == ["Now."]
    assert len(stage.requests("vllm-ts-again")) == 2


def test_twenty_streams_at_once(report: Report) -> None:
    assert report["many"]["texts"] == [f"<{number}>" * 10 for number in range(20)]
