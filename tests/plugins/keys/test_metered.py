from __future__ import annotations

import pytest

from core import Record, Request, Stop, Text, Thinking, TokenEstimate, ToolUse, Usage
from core.request import Message, TextBlock
from plugins.keys.metered import MOST, Metered, tokens_of
from tests.core.fakes import TextAnswer
from tests.plugins.keys.samples import http_with

ASKED = Request("message", messages=(Message("user", (TextBlock("x" * 400),)),))


def record_of(
    usage: Usage | None = None, *, stop: bool = False, accepted: float = 1.0, task: str = "message"
) -> Record:
    record = Record(http_with())
    record.request = Request(task) if task != "message" else ASKED  # type: ignore[arg-type]
    record.usage, record.accepted = usage, accepted
    record.stop = Stop("end_turn") if stop else None
    return record


def passed(tokens: int) -> TokenEstimate:
    estimate = TokenEstimate()
    estimate.add_tokens(tokens)
    return estimate


def test_a_whole_answer_is_what_the_engine_says() -> None:
    assert tokens_of(record_of(Usage(7, 8), stop=True), passed(500)) == (7, 8)


def test_a_client_that_leaves_early_pays_for_the_prompt_and_what_it_got() -> None:
    read, written = tokens_of(record_of(), passed(30))
    assert (100 <= read <= 120, written) == (True, 30)
    assert tokens_of(record_of(Usage(90, 1)), passed(30)) == (90, 30)
    assert tokens_of(record_of(Usage(90, 50)), passed(30)) == (90, 50)


def test_an_engine_that_counts_nothing_is_estimated() -> None:
    assert tokens_of(record_of(stop=True), passed(30))[1] == 30


@pytest.mark.parametrize("task", ["count_tokens", "models"])
def test_counts_and_lists_take_no_tokens(task: str) -> None:
    assert tokens_of(record_of(Usage(7, 0), stop=True, task=task), passed(9)) == (0, 0)


def test_what_no_engine_took_is_free() -> None:
    assert tokens_of(record_of(accepted=0), passed(0)) == (0, 0)
    assert tokens_of(Record(http_with()), passed(0)) == (0, 0)


def test_odd_counts_do_no_harm() -> None:
    assert tokens_of(record_of(Usage(-5, 2**80), stop=True), passed(0)) == (0, MOST)


def test_the_writer_is_as_before_and_what_it_writes_is_counted() -> None:
    inner = TextAnswer(http_with(), stream=True)
    estimate = TokenEstimate()
    answer = Metered(inner, estimate)
    assert (
        answer.feed([Text("abcd" * 2), Thinking("abcd"), ToolUse(0, '{"a":1}', "id", "n"), Usage(1, 1)]) == b"abcd" * 2
    )
    assert estimate.tokens == 5
    answer.feed([Stop("end_turn")])
    assert (answer.ping(), answer.finish(), answer.status) == (b".", b"<end_turn>", 200)
    assert answer.headers == inner.headers
