from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from core import HTTPRequest, Record, Request, RequestError
from plugins.tracing.tracer import Tracer
from tests.plugins.tracing.samples import PARENT, TRACE, Kept, answered

pytestmark = pytest.mark.anyio

BACKENDS = {"b": {"gen_ai.provider.name": "vllm", "server.address": "host", "server.port": 8000}}


async def span_of(record: Record, ratio: float = 1.0) -> ReadableSpan | None:
    kept = Kept()
    async with Tracer(kept, ratio, BACKENDS).begin(record):
        pass
    return kept.spans[0] if kept.spans else None


async def attributes_of(record: Record) -> dict[str, Any]:
    span = await span_of(record)
    assert span is not None
    return dict(span.attributes or {})


async def test_the_span_of_an_answer() -> None:
    record = answered()
    span = await span_of(record)
    assert span is not None
    assert (span.name, span.kind, span.status.status_code) == ("chat up", SpanKind.CLIENT, StatusCode.UNSET)
    assert span.parent is None
    assert span.attributes == {
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
    assert record.trace_id == f"{span.context.trace_id:032x}"


async def test_its_times() -> None:
    span = await span_of(answered())
    assert span is not None
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time == 2_000_000_000
    moments = {event.name: event.timestamp - span.start_time for event in span.events}
    assert moments == {"accepted": 500_000_000, "first_token": 1_000_000_000}


@pytest.mark.parametrize(
    ("request_", "name"),
    [(None, "POST"), (Request("models"), "models"), (Request("count_tokens", model="m"), "count_tokens")],
)
async def test_what_is_no_answer_is_of_the_server(request_: Request | None, name: str) -> None:
    span = await span_of(Record(HTTPRequest("POST", "/"), status=400, request=request_, ended=1.0))
    assert span is not None
    assert (span.name, span.kind) == (name, SpanKind.SERVER)
    assert "gen_ai.operation.name" not in (span.attributes or {})


async def test_an_error_is_told_without_its_words() -> None:
    record = answered()
    record.error, record.status, record.stop = RequestError("prompt: secret words", kind="too_large"), 413, None
    span = await span_of(record)
    assert span is not None
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "too_large"
    assert "secret" not in f"{span.name} {span.attributes} {span.events} {span.status.description}"


async def test_a_client_that_left() -> None:
    record = answered()
    record.left = True
    assert (await attributes_of(record))["hookline.left"] is True


async def test_names_are_cut() -> None:
    record = answered()
    record.request = Request("message", model="m" * 9999)
    record.route = None
    span = await span_of(record)
    assert span is not None
    assert len(span.name) < 300
    assert len(str((span.attributes or {})["hookline.model"])) == 256


async def test_the_client_is_the_parent() -> None:
    record = answered(("traceparent", PARENT), ("tracestate", "vendor=1"))
    span = await span_of(record, ratio=0.0)
    assert span is not None
    assert span.parent is not None
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, "00f067aa0ba902b7")
    assert span.context.span_id != span.parent.span_id
    assert span.context.trace_state.get("vendor") == "1"


async def test_the_client_decides() -> None:
    assert await span_of(answered(("traceparent", f"{PARENT[:-2]}00"))) is None


@pytest.mark.parametrize(
    "value", ["", "nonsense", f"00-{'0' * 32}-00f067aa0ba902b7-01", f"ff-{TRACE}-00f067aa0ba902b7-01"]
)
async def test_what_is_no_parent(value: str) -> None:
    span = await span_of(answered(("traceparent", value)))
    assert span is not None
    assert span.parent is None


@pytest.mark.parametrize(("ratio", "low", "high"), [(0.0, 0, 0), (0.5, 350, 650), (1.0, 1000, 1000)])
async def test_the_share_that_is_traced(ratio: float, low: int, high: int) -> None:
    kept = Kept()
    tracer = Tracer(kept, ratio, {})
    for _ in range(1000):
        async with tracer.begin(answered()):
            pass
    assert low <= len(kept.spans) <= high


async def test_it_is_the_current_span_while_it_runs() -> None:
    record = answered()
    async with Tracer(Kept(), 1.0, {}).begin(record):
        assert f"{trace.get_current_span().get_span_context().trace_id:032x}" == record.trace_id
    assert not trace.get_current_span().get_span_context().is_valid
