from __future__ import annotations

import logging
import time

import pytest

from core.deltas import Stop, Text, Usage
from core.errors import GatewayError, RequestError, UpstreamError
from core.record import Missed, Record
from core.request import HTTPRequest, Request
from core.route import Candidate, Route

HTTP = HTTPRequest("POST", "/messages", mount="/v1", headers=[(b"user-agent", b"cli")], id="req_1", client="h:1")


def test_a_refused_request_has_no_fields_of_an_answer() -> None:
    fields = Record(HTTP, status=400, error=RequestError("model: Field required")).fields()
    assert fields.pop("ms") >= 0
    assert fields == {
        "id": "req_1",
        "pipeline": "",
        "client": "h:1",
        "agent": "cli",
        "method": "POST",
        "path": "/v1/messages",
        "status": 400,
        "error": "invalid_request",
        "message": "model: Field required",
    }


def test_an_answer_has_them_all() -> None:
    now = time.monotonic()
    record = Record(HTTP, started=now - 1, accepted=now - 0.5, first=now - 0.25, pipeline="p")
    record.request = Request("message", model="m", stream=True)
    record.route = Route((Candidate("b", "up"),))
    record.note([Text("x"), Usage(3, 4), Usage(3, 5)])
    record.note([Stop("stop_sequence", "END")])
    fields = record.fields()
    assert (fields["accepted_ms"], fields["first_ms"]) == (500.0, 750.0)
    assert fields["ms"] >= 1000
    wanted = {
        "model": "m",
        "stream": True,
        "backend": "b",
        "upstream_model": "up",
        "input_tokens": 3,
        "output_tokens": 5,
    }
    assert wanted.items() <= fields.items()
    assert (fields["stop_reason"], fields["stop_sequence"]) == ("stop_sequence", "END")
    assert "left" not in fields


def test_whose_it_was_and_who_did_not_serve_it() -> None:
    record = Record(HTTP, key="alice")
    record.attempts = [Missed("gpu1", "overloaded", "529 busy"), Missed("gpu2", "cooling", "cooling down")]
    fields = record.fields()
    assert (fields["key"], fields["tried"]) == ("alice", "gpu1: 529 busy; gpu2: cooling down")


def test_no_header_but_the_agent_is_told() -> None:
    http = HTTPRequest("POST", "/", headers=[(b"x-api-key", b"sk-secret"), (b"authorization", b"Bearer sk-secret")])
    assert "sk-secret" not in repr(Record(http).fields())


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (None, "INFO"),
        (RequestError("x"), "WARNING"),
        (UpstreamError("x"), "ERROR"),
        (UpstreamError("x", kind="rate_limit"), "WARNING"),
    ],
)
def test_the_line_is_as_loud_as_the_fault(error: GatewayError | None, level: str) -> None:
    assert logging.getLevelName(Record(HTTP, error=error).level) == level


def test_the_cause_is_told_to_the_operator() -> None:
    error = UpstreamError("the upstream cannot be reached")
    error.__cause__ = ConnectionError("Cannot connect to host 127.0.0.1:9")
    assert Record(HTTP, error=error).fields()["cause"] == "ConnectionError: Cannot connect to host 127.0.0.1:9"


def test_a_trace_is_named() -> None:
    assert Record(HTTP, trace_id="4bf9").fields()["trace_id"] == "4bf9"
    assert "trace_id" not in Record(HTTP).fields()
