from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from plugins.tracing.encoding import KEPT, Encoder
from tests.plugins.tracing.samples import received, values

RESOURCE = {"service.name": "s", "service.version": "1"}


def a_span(attributes: dict[str, Any] | None = None, *, name: str = "chat m", parent: bool = False) -> ReadableSpan:
    state = TraceState([("vendor", "1")]) if parent else None
    own = SpanContext(2**127 + 5, 7, False, TraceFlags(1), state)
    return ReadableSpan(
        name,
        context=own,
        parent=SpanContext(2**127 + 5, 6, True, TraceFlags(1), state) if parent else None,
        resource=Resource(RESOURCE),
        attributes=attributes or {},
        events=[Event("first_token", attributes={}, timestamp=2_000)],
        kind=SpanKind.CLIENT,
        status=Status(StatusCode.ERROR) if parent else Status(),
        start_time=1_000,
        end_time=3_000,
        instrumentation_scope=InstrumentationScope("hookline", "1"),
    )


ATTRIBUTES = {
    "a": "text",
    "b": True,
    "n": -5,
    "f": 0.5,
    "t": ("x", "y"),
    "hookline.request.id": "r",
    "gen_ai.usage.input_tokens": 2**40,
}


@pytest.mark.parametrize("parent", [True, False])
def test_it_is_what_the_library_makes(parent: bool) -> None:
    spans = [a_span(ATTRIBUTES, parent=parent), a_span({"a": "text", "b": False}, parent=parent)]
    ours = ExportTraceServiceRequest.FromString(Encoder(RESOURCE, "hookline", "1").request(spans))
    theirs = encode_spans(spans)
    for request in (ours, theirs):
        for span in request.resource_spans[0].scope_spans[0].spans:
            span.attributes.sort(key=lambda pair: pair.key)
            span.flags &= ~0xFF  # it leaves out those of the trace
            if not span.status.code:
                span.ClearField("status")
    assert str(ours) == str(theirs)


def test_what_is_kept_is_told_apart() -> None:
    encoder = Encoder(RESOURCE, "hookline", "1")
    given: list[dict[str, Any]] = [{"k": True}, {"k": 1}, {"k": "1"}, {"k": False}, {"k": True}, {"j": True}]
    found = [values(span.attributes) for span in received(encoder.request([a_span(each) for each in given]))]
    assert repr(found) == repr(given)


def test_what_is_kept_is_bounded() -> None:
    encoder = Encoder(RESOURCE, "hookline", "1")
    encoder.request([a_span({"k": number}) for number in range(3 * KEPT)])
    assert len(encoder._kept) <= KEPT


def test_nothing_costs_a_batch() -> None:
    encoder = Encoder(RESOURCE, "hookline", "1")
    spans = [a_span({"k": "a\ud800", "gen_ai.usage.input_tokens": 2**70}, name="chat \udfff"), a_span({"k": "ü"})]
    first, second = received(encoder.request(spans))
    assert first.name == "chat ?"
    assert values(first.attributes) == {"k": "a?", "gen_ai.usage.input_tokens": str(2**70)}
    assert values(second.attributes) == {"k": "ü"}
