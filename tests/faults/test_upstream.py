"""Every fault of an upstream, for a client that streams and for one that does not, on both kinds of worker."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.fault import TYPES, Fault
from tests.faults.leaks import FORBIDDEN
from tests.faults.outcomes import Outcome
from tests.faults.reader import Answer, read_stream
from tests.faults.table import TABLE

CLOSED_WITHIN = 2.0
"""Seconds from the client's last byte to the end of the upstream's connection."""

Outcomes = dict[tuple[str, bool], Outcome]


def test_the_names_differ() -> None:
    assert len({fault.name for fault in TABLE}) == len(TABLE)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("fault", TABLE, ids=str)
def test_a_fault(outcomes: Outcomes, fault: Fault, stream: bool) -> None:
    outcome = outcomes[fault.name, stream]
    assert not outcome.broken
    answer = outcome.answer
    assert answer is not None
    assert outcome.goes_on
    everything = (answer.raw + answer.body).decode()
    assert not [word for word in FORBIDDEN if word in everything]
    if fault.status == 200 and answer.status == 200:
        check_success(answer, fault, stream=stream)
    elif stream and (fault.text or fault.begun or b"event: ping" in answer.body):
        check_event(answer, fault)
    else:
        check_refusal(answer, fault)
    assert outcome.exchanges <= 1, "the request was sent again"
    if fault.hangs:
        assert outcome.lag is not None, "the upstream's connection is still open"
        assert outcome.lag < CLOSED_WITHIN


def check_success(answer: Answer, fault: Fault, *, stream: bool) -> None:
    if stream:
        told = read_stream(answer.body)
        assert told.error is None
        assert (told.text, told.stop_reason) == (fault.text, "end_turn")
        assert answer.headers["request-id"]
    else:
        message = answer.json()
        assert message["type"] == "message"
        assert "".join(block["text"] for block in message["content"]) == fault.text
        assert message["stop_reason"] == "end_turn"


def check_event(answer: Answer, fault: Fault) -> None:
    """What was said is all there, then the error."""
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = read_stream(answer.body)
    assert (told.text, told.thinking, told.arguments) == (fault.text, fault.thinking, fault.arguments)
    assert told.request_id == answer.headers["request-id"]
    assert told.error is not None
    check_error(told.error, fault, fault.status)


def check_refusal(answer: Answer, fault: Fault) -> None:
    """Nothing was said: the status tells the truth."""
    assert answer.status in (fault.status, *fault.statuses), answer.body
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["type"] == "error"
    assert body["request_id"] == answer.headers["request-id"]
    check_error(body["error"], fault, answer.status)
    check_again(answer, fault)


def check_error(error: dict[str, Any], fault: Fault, status: int) -> None:
    assert error["type"] == TYPES[status]
    if status == fault.status:
        assert fault.said in error["message"]
    assert error["message"].strip()


def check_again(answer: Answer, fault: Fault) -> None:
    """When and whether an SDK shall try again."""
    after = answer.headers.get("retry-after")
    if fault.retry_after == "about":
        assert after is not None
        assert 2800 < int(after) <= 3000
    else:
        assert after == fault.retry_after
    assert answer.headers.get("x-should-retry") == fault.should_retry
