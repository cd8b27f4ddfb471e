from __future__ import annotations

from typing import Any

import attrs
import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from plugins.tracing.encoding import Encoder
from plugins.tracing.spans import KEPT, Common, Span
from tests.plugins.tracing.samples import received, values

RESOURCE = {"service.name": "s", "service.version": "1"}


def a_span(attributes: dict[str, Any] | None = None, *, name: str = "chat m", parent: bool = False) -> Span:
    state = TraceState([("vendor", "1")]) if parent else None
    return Span(
        SpanContext(2**127 + 5, 7, False, TraceFlags(1), state),
        SpanContext(2**127 + 5, 6, True, TraceFlags(1), state) if parent else None,
        Common(name, SpanKind.CLIENT if parent else SpanKind.SERVER, {"common": "text", "more": False}, parent),
        start=1_000,
        end=3_000,
        events=(("first_token", 2_000),),
        attributes=attributes or {},
    )


def theirs_of(span: Span) -> ReadableSpan:
    """The same as a span of the SDK."""
    return ReadableSpan(
        span.common.name,
        context=span.context,
        parent=span.parent,
        resource=Resource(RESOURCE),
        attributes={**span.common.attributes, **span.attributes},
        events=[Event(name, attributes={}, timestamp=at) for name, at in span.events],
        kind=span.common.kind,
        status=Status(StatusCode.ERROR) if span.common.is_error else Status(),
        start_time=span.start,
        end_time=span.end,
        instrumentation_scope=InstrumentationScope("hookline", "1"),
    )


def request_of(encoder: Encoder, spans: list[Span]) -> bytes:
    return encoder.request([encoder.span(span) for span in spans])


ATTRIBUTES = {
    "a": "text",
    "b": True,
    "n": -5,
    "f": 0.5,
    "t": ("x", "y"),
}


@pytest.mark.parametrize("parent", [True, False])
def test_it_is_what_the_library_makes(parent: bool) -> None:
    spans = [a_span(ATTRIBUTES, parent=parent), a_span({"n": 2**40}, parent=parent)]
    ours = ExportTraceServiceRequest.FromString(request_of(Encoder(RESOURCE, "hookline", "1"), spans))
    theirs = encode_spans([theirs_of(span) for span in spans])
    for request in (ours, theirs):
        for span in request.resource_spans[0].scope_spans[0].spans:
            span.attributes.sort(key=lambda pair: pair.key)
            span.flags &= ~0xFF  # it leaves out those of the trace
            if not span.status.code:
                span.ClearField("status")
    assert str(ours) == str(theirs)


def test_what_is_common_is_encoded_once_and_kept_in_bounds() -> None:
    encoder, first, second = Encoder(RESOURCE, "hookline", "1"), a_span({"n": 1}), a_span({"n": 2})
    spans = [first, attrs.evolve(second, common=first.common)]
    found = [values(span.attributes) for span in received(request_of(encoder, spans))]
    assert [each["n"] for each in found] == [1, 2]
    assert len(encoder._kept) == 1
    for number in range(2 * KEPT):
        encoder.span(a_span(name=f"m{number}"))
        assert len(encoder._kept) <= KEPT


def test_nothing_costs_a_batch() -> None:
    encoder = Encoder(RESOURCE, "hookline", "1")
    spans = [a_span({"k": "a\ud800", "n": 2**70}, name="chat \udfff"), a_span({"k": "ü"})]
    first, second = received(request_of(encoder, spans))
    assert first.name == "chat ?"
    assert values(first.attributes).items() >= {"k": "a?", "n": str(2**70)}.items()
    assert values(second.attributes)["k"] == "ü"


def test_the_queue_of_the_sdk_takes_it_for_a_sampled_span() -> None:
    assert Encoder(RESOURCE, "hookline", "1").span(a_span()).context.trace_flags.sampled
