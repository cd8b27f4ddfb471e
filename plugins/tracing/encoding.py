"""Spans as OTLP has them, in protobuf.

OpenTelemetry's own encoder takes some 50 µs a span, in a thread that shares the interpreter with all requests. Here
what spans have in common is encoded once. That can be, for a message in protobuf is the encodings of its fields one
after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from opentelemetry.proto.common.v1 import common_pb2 as values
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp
from opentelemetry.trace import SpanKind

from plugins.tracing.spans import Common, Span

_KINDS: Final = {SpanKind.CLIENT: otlp.Span.SPAN_KIND_CLIENT, SpanKind.SERVER: otlp.Span.SPAN_KIND_SERVER}

_KNOWN: Final = 0x100
"""Span flag: it is known whether the parent is of another process."""

_REMOTE: Final = 0x200
"""Span flag: it is."""


class Encoder:
    """Encodes spans of one service: its resource is `resource`, its instrumentation `scope` of this `version`."""

    def __init__(self, resource: dict[str, Any], scope: str, version: str) -> None:
        self._kept: WeakKeyDictionary[Common, bytes] = WeakKeyDictionary()
        told = Resource(attributes=_pairs(resource.items()))
        self._resource: bytes = otlp.ResourceSpans(resource=told).SerializeToString()
        scoped = otlp.ScopeSpans(scope=values.InstrumentationScope(name=scope, version=version))
        self._scope: bytes = scoped.SerializeToString()

    def request(self, spans: Sequence[Span]) -> bytes:
        """The body of a request to the collector: an ExportTraceServiceRequest."""
        encoded = [_field(otlp.ScopeSpans.SPANS_FIELD_NUMBER, self._span(span)) for span in spans]
        scoped = b"".join((self._scope, *encoded))
        return _field(1, self._resource + _field(otlp.ResourceSpans.SCOPE_SPANS_FIELD_NUMBER, scoped))

    def _span(self, span: Span) -> bytes:
        own, parent = span.context, span.parent
        made = otlp.Span(
            trace_id=own.trace_id.to_bytes(16, "big"),
            span_id=own.span_id.to_bytes(8, "big"),
            flags=own.trace_flags | _KNOWN | (_REMOTE if parent is not None else 0),
            start_time_unix_nano=span.start,
            end_time_unix_nano=span.end,
            attributes=_pairs(span.attributes.items()),
            events=[otlp.Span.Event(name=name, time_unix_nano=at) for name, at in span.events],
        )
        if own.trace_state:
            made.trace_state = own.trace_state.to_header()
        if parent is not None:
            made.parent_span_id = parent.span_id.to_bytes(8, "big")
        return b"".join((self._common(span.common), made.SerializeToString()))

    def _common(self, common: Common) -> bytes:
        encoded = self._kept.get(common)
        if encoded is None:
            name, pairs = _text(common.name), _pairs(common.attributes.items())
            made = otlp.Span(name=name, kind=_KINDS[common.kind], attributes=pairs)
            if common.is_error:
                made.status.code = otlp.Status.STATUS_CODE_ERROR
            encoded = self._kept[common] = made.SerializeToString()
        return encoded


def _pairs(attributes: Iterable[tuple[str, Any]]) -> list[values.KeyValue]:
    return [values.KeyValue(key=name, value=_value(value)) for name, value in attributes]


def _value(value: Any) -> values.AnyValue:
    if isinstance(value, bool):
        return values.AnyValue(bool_value=value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return values.AnyValue(int_value=value)
    if isinstance(value, float):
        return values.AnyValue(double_value=value)
    if isinstance(value, tuple):
        return values.AnyValue(array_value=values.ArrayValue(values=[_value(each) for each in value]))
    return values.AnyValue(string_value=_text(str(value)))


def _text(text: str) -> str:
    """What protobuf takes: a lone surrogate would cost the whole batch."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _field(number: int, data: bytes) -> bytes:
    """A field that holds a message: its number, its length, the message."""
    head, size = bytearray([number << 3 | 2]), len(data)
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + data
