"""Claude Code mends what fails: its own retries and continuations work through the gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.testing import UpstreamAnswer, UpstreamReply
from tests.clients.claude_code.claude import Claude
from tests.clients.claude_code.scenes import DIALECTS, check_request
from tests.clients.stage import Stage, refusal

VLLM = DIALECTS["vllm"]
WHOLE = VLLM.answer("Whole.")
FAILED = {"message": "out of memory", "code": 500}
LONG = "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens."


@pytest.mark.parametrize("name", list(DIALECTS))
def test_a_stream_that_breaks_is_taken_up(claude: Claude, stage: Stage, tmp_path: Path, name: str) -> None:
    model = stage.play(f"{name}-broken", UpstreamAnswer(text="Half", error=FAILED), WHOLE)
    assert claude.run(tmp_path, model, "say it").text == "Whole."
    first, second = stage.requests(model)
    check_request(second.json, second.headers)
    begun, resume = second.json["messages"][len(first.json["messages"]) :]
    assert begun == {"role": "assistant", "content": "Half"}
    assert resume["role"] == "user"
    assert "cut off" in resume["content"]


def test_a_connection_that_is_cut_is_taken_up(claude: Claude, stage: Stage, tmp_path: Path) -> None:
    long = VLLM.answer("word " * 40).sse()
    cut = UpstreamReply(long, content_type="text/event-stream", stop_after=len(long) // 2, end="close")
    model = stage.play("vllm-cut", cut, WHOLE)
    assert claude.run(tmp_path, model, "say it").text == "Whole."
    second = stage.bodies(model)[1]["messages"]
    assert "word word" in second[-2]["content"]


@pytest.mark.parametrize(
    "first",
    [
        refusal(503, "the queue is full"),
        refusal(429, "slow down", retry_after="1"),
        UpstreamReply.answer(UpstreamAnswer(text=None, error=FAILED), stream=True),
    ],
    ids=["503", "429", "stream"],
)
def test_what_fails_before_the_first_word_is_asked_again(
    claude: Claude, stage: Stage, tmp_path: Path, first: UpstreamReply
) -> None:
    model = stage.play("vllm-again", first, WHOLE)
    assert claude.run(tmp_path, model, "say it").text == "Whole."
    one, two = stage.bodies(model)
    assert {**two, "stream": True, "stream_options": one["stream_options"]} == one


def test_an_answer_cut_by_max_tokens_goes_on(claude: Claude, stage: Stage, tmp_path: Path) -> None:
    part = UpstreamAnswer(text="Part one", finish_reason="length")
    model = stage.play("vllm-length", part, VLLM.answer(" and two."))
    assert claude.run(tmp_path, model, "say it").text == " and two."
    second = stage.bodies(model)[1]["messages"]
    assert second[-2] == {"role": "assistant", "content": "Part one"}


def test_a_prompt_that_is_too_long_is_named_so(claude: Claude, stage: Stage, tmp_path: Path) -> None:
    model = stage.play("vllm-long", refusal(400, LONG, word="BadRequestError"))
    outcome = claude.run(tmp_path, model, "say it")
    assert (outcome.status, outcome.result["is_error"]) == (1, True)
    assert outcome.result["result"].startswith("Prompt is too long")
    assert "~5000 tokens (limit 4096)" in outcome.result["result"]  # it read the numbers


def test_a_model_that_is_not_there(claude: Claude, tmp_path: Path) -> None:
    outcome = claude.run(tmp_path, "nobody", "say it")
    assert (outcome.status, outcome.result["is_error"]) == (1, True)
    assert "nobody" in outcome.result["result"]
