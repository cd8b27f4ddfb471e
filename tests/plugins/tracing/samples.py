"""Records of requests as they are when they are over, and spans as a collector reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp

from core import Candidate, HTTPRequest, Record, Request, Route, Stop, Usage
from plugins.tracing.spans import Span

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Kept:
    """Keeps the spans that it is given."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def on_end(self, span: Span) -> None:
        self.spans.append(span)


def answered(*headers: tuple[str, str]) -> Record:
    """A request that was answered in two seconds, the first token after one."""
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    record = Record(
        HTTPRequest("POST", "/messages", headers=pairs, id="req_1"), started=100.0, pipeline="p", status=200
    )
    record.request = Request("message", model="m", stream=True, max_tokens=9, temperature=0.5)
    record.route = Route((Candidate("b", "up"),))
    record.accepted, record.first_delta, record.first, record.ended = 100.5, 101.0, 101.2, 102.0
    record.usage, record.stop = Usage(30, 5, cache_read_tokens=10), Stop("end_turn")
    return record


def received(body: bytes) -> list[otlp.Span]:
    """The spans of a request to the collector."""
    return [
        span
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def values(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """Attributes as Python has them."""
    return {pair.key: _python(pair.value) for pair in attributes}


def _python(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    assert kind is not None
    found = getattr(value, kind)
    return [_python(each) for each in found.values] if kind == "array_value" else found
