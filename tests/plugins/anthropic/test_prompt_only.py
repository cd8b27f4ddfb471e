from __future__ import annotations

import json

import pytest

from core import Delta, HTTPRequest, Request, Stop, Text, Thinking, UpstreamError, Usage
from plugins.anthropic import Anthropic
from plugins.anthropic.prompt_only import PromptOnly
from tests.plugins.anthropic.folding import fold

HTTP = HTTPRequest("POST", "/messages", id="req_1")
DELTAS: list[Delta] = [Thinking("h"), Text("x"), Usage(7, 1), Stop("end_turn")]


def answer(*, stream: bool) -> PromptOnly:
    made = Anthropic().serialize(HTTP, Request("message", model="m", max_tokens=0, stream=stream))
    assert isinstance(made, PromptOnly)
    return made


def test_a_body_without_content() -> None:
    made = answer(stream=False)
    assert made.feed(DELTAS) == b""
    body = json.loads(made.finish())
    assert (body["content"], body["stop_reason"], body["stop_sequence"]) == ([], "max_tokens", None)
    assert body["usage"] == {"input_tokens": 7, "output_tokens": 1}
    assert (made.status, dict(made.headers)[b"request-id"]) == (200, b"req_1")


def test_a_stream_without_content() -> None:
    made = answer(stream=True)
    message = fold(made.feed(DELTAS) + made.ping() + made.finish())
    assert (message["content"], message["stop_reason"]) == ([], "max_tokens")


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_stays_an_error(stream: bool) -> None:
    made = answer(stream=stream)
    assert b"boom" in made.fail(UpstreamError("boom", kind="overloaded"))
    assert made.status == 529
