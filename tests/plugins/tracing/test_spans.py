from __future__ import annotations

from typing import Any

import attrs
import pytest
from opentelemetry.trace import SpanKind

from core import Candidate, HTTPRequest, Record, Request, RequestError, Route, Stop
from plugins.tracing.spans import common_of, key_of, own_attributes
from tests.plugins.tracing.samples import answered

BACKENDS = {"b": {"gen_ai.provider.name": "vllm", "server.address": "host", "server.port": 8000}}


def attributes_of(record: Record) -> dict[str, Any]:
    return {**common_of(record, BACKENDS).attributes, **own_attributes(record)}


def test_an_answer() -> None:
    common = common_of(answered(), BACKENDS)
    assert (common.name, common.kind, common.is_error) == ("chat up", SpanKind.CLIENT, False)
    assert attributes_of(answered()) == {
        "hookline.request.id": "req_1",
        "hookline.pipeline": "p",
        "hookline.backend": "b",
        "hookline.model": "m",
        "http.response.status_code": 200,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": "up",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 10,
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.response.time_to_first_chunk": 1.0,
        "server.address": "host",
        "server.port": 8000,
    }


@pytest.mark.parametrize(
    ("request_", "name"),
    [(None, "POST"), (Request("models"), "models"), (Request("count_tokens", model="m"), "count_tokens")],
)
def test_what_is_no_message_is_of_the_server(request_: Request | None, name: str) -> None:
    common = common_of(Record(HTTPRequest("POST", "/"), status=400, request=request_), {})
    assert (common.name, common.kind) == (name, SpanKind.SERVER)
    assert "gen_ai.operation.name" not in common.attributes


def test_an_error_is_told_without_its_words() -> None:
    record = answered()
    record.error, record.status, record.stop = RequestError("prompt: secret words", kind="too_large"), 413, None
    common = common_of(record, BACKENDS)
    assert common.is_error
    assert common.attributes["error.type"] == "too_large"
    assert "secret" not in f"{common} {own_attributes(record)}"


def test_a_client_that_left() -> None:
    record = answered()
    record.left = True
    assert attributes_of(record)["hookline.left"] is True


def test_names_are_cut() -> None:
    record = answered()
    record.request, record.route = Request("message", model="m" * 9999), None
    common = common_of(record, BACKENDS)
    assert len(common.name) < 300
    assert len(common.attributes["hookline.model"]) == 256
    assert len(repr(key_of(record))) < 1000


CHANGES: list[dict[str, Any]] = [
    {"pipeline": "q"},
    {"status": 500},
    {"error": RequestError("no")},
    {"stop": Stop("max_tokens")},
    {"left": True},
    {"request": None},
    {"route": None},
    {"route": Route((Candidate("c", "up"),))},
    {"route": Route((Candidate("b", "other"),))},
    *(
        {"request": attrs.evolve(answered().request or Request("message"), **change)}
        for change in (
            {"model": "n"},
            {"stream": False},
            {"max_tokens": 1},
            {"temperature": 1.0},
            {"top_p": 0.5},
            {"top_k": 3},
            {"task": "count_tokens"},
        )
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=repr)
def test_whatever_makes_another_span_makes_another_key(change: dict[str, Any]) -> None:
    other = attrs.evolve(answered(), **change)
    assert common_of(other, BACKENDS).attributes != common_of(answered(), BACKENDS).attributes
    assert key_of(other) != key_of(answered())


def test_requests_that_differ_in_what_is_their_own_have_one_key() -> None:
    other = attrs.evolve(answered(), http=HTTPRequest("POST", "/", id="req_2"), started=50.0, usage=None)
    assert key_of(other) == key_of(answered())


def test_a_clients_key_that_is_sent_as_a_model_is_masked() -> None:
    key = "hl-0123456789-abcdefghij_klm-nop"
    record = answered()
    record.request, record.route = Request("message", model=f"a/{key}"), Route((Candidate("b", key),))
    common = common_of(record, BACKENDS)
    assert (common.name, common.attributes["hookline.model"]) == ("chat ***", "a/***")
    assert "0123456789" not in repr(common.attributes)
