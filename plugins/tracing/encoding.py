"""Spans as OTLP has them, in protobuf.

OpenTelemetry's own encoder takes some 50 µs a span, in a thread that shares the interpreter with all requests, and to
build the messages of the library half of that. Here what spans have in common is encoded once, by the library, and what
is a span's own is put together from bytes. That can be, for a message in protobuf is the encodings of its fields one
after the other, each with its number and its kind before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final

from opentelemetry.proto.common.v1 import common_pb2 as values
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from plugins.tracing.protobuf import BYTES, FIXED32, FIXED64, VARINT, field, tag, varint
from plugins.tracing.spans import KEPT, Common, Span

_KINDS: Final = {SpanKind.CLIENT: otlp.Span.SPAN_KIND_CLIENT, SpanKind.SERVER: otlp.Span.SPAN_KIND_SERVER}

_KNOWN: Final = 0x100
"""Span flag: it is known whether the parent is of another process."""

_REMOTE: Final = 0x200
"""Span flag: it is."""

_IN_SCOPE: Final = tag(otlp.ScopeSpans.SPANS_FIELD_NUMBER, BYTES)
_TRACE: Final = tag(otlp.Span.TRACE_ID_FIELD_NUMBER, BYTES) + varint(16)
_SPAN: Final = tag(otlp.Span.SPAN_ID_FIELD_NUMBER, BYTES) + varint(8)
_FLAGS: Final = tag(otlp.Span.FLAGS_FIELD_NUMBER, FIXED32)
_START: Final = tag(otlp.Span.START_TIME_UNIX_NANO_FIELD_NUMBER, FIXED64)
_END: Final = tag(otlp.Span.END_TIME_UNIX_NANO_FIELD_NUMBER, FIXED64)
_EVENT_TIME: Final = tag(otlp.Span.Event.TIME_UNIX_NANO_FIELD_NUMBER, FIXED64)
_ATTRIBUTE: Final = tag(otlp.Span.ATTRIBUTES_FIELD_NUMBER, BYTES)
_TEXT: Final = tag(values.AnyValue.STRING_VALUE_FIELD_NUMBER, BYTES)
_INTEGER: Final = tag(values.AnyValue.INT_VALUE_FIELD_NUMBER, VARINT)

_HEAD: Final = struct.Struct("2s16s2s8s")
_TIMES: Final = struct.Struct("<2sIsQsQ")


class Encoded(bytes):
    """A span in protobuf. Thousands may wait for the collector, and as bytes they are small."""

    __slots__ = ()

    context: ClassVar = SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    """The SDK's queue asks each span whether it is sampled."""


class Encoder:
    """Encodes spans of one service: its resource is `resource`, its instrumentation `scope` of this `version`."""

    def __init__(self, resource: dict[str, Any], scope: str, version: str) -> None:
        self._kept: dict[Common, bytes] = {}
        told = Resource(attributes=_pairs(resource.items()))
        self._resource: bytes = otlp.ResourceSpans(resource=told).SerializeToString()
        scoped = otlp.ScopeSpans(scope=values.InstrumentationScope(name=scope, version=version))
        self._scope: bytes = scoped.SerializeToString()

    def request(self, spans: Sequence[Encoded]) -> bytes:
        """The body of a request to the collector: an ExportTraceServiceRequest."""
        scoped = b"".join((self._scope, *spans))
        return field(1, self._resource + field(otlp.ResourceSpans.SCOPE_SPANS_FIELD_NUMBER, scoped))

    def span(self, span: Span) -> Encoded:
        """A span as a part of a request."""
        own, parent = span.context, span.parent
        flags = own.trace_flags | _KNOWN | (_REMOTE if parent is not None else 0)
        parts = [
            self._common(span.common),
            _HEAD.pack(_TRACE, own.trace_id.to_bytes(16, "big"), _SPAN, own.span_id.to_bytes(8, "big")),
            _TIMES.pack(_FLAGS, flags, _START, span.start, _END, span.end),
        ]
        parts += [_attribute(name, value) for name, value in span.attributes.items()]
        for name, at in span.events:
            before, after = _event(name)
            parts += (before, at.to_bytes(8, "little"), after)
        if own.trace_state:
            parts.append(field(otlp.Span.TRACE_STATE_FIELD_NUMBER, own.trace_state.to_header().encode()))
        if parent is not None:
            parts.append(field(otlp.Span.PARENT_SPAN_ID_FIELD_NUMBER, parent.span_id.to_bytes(8, "big")))
        data = b"".join(parts)
        return Encoded(b"%b%b%b" % (_IN_SCOPE, varint(len(data)), data))

    def _common(self, common: Common) -> bytes:
        encoded = self._kept.get(common)
        if encoded is None:
            name, pairs = _text(common.name), _pairs(common.attributes.items())
            made = otlp.Span(name=name, kind=_KINDS[common.kind], attributes=pairs)
            if common.is_error:
                made.status.code = otlp.Status.STATUS_CODE_ERROR
            if len(self._kept) >= KEPT:
                self._kept.clear()
            encoded = self._kept[common] = made.SerializeToString()
        return encoded


def _attribute(name: str, value: Any) -> bytes:
    """The field of one attribute. Numbers of tokens and texts are what most are."""
    if value.__class__ is int and 0 <= value < 2**63:
        told = _INTEGER + varint(value)
    elif value.__class__ is str:
        text = value.encode("utf-8", "replace")
        told = b"%b%b%b" % (_TEXT, varint(len(text)), text)
    else:
        told = _value(value).SerializeToString()
    key, length = _key(name), varint(len(told))
    return b"%b%b%b%b%b" % (_ATTRIBUTE, varint(len(key) + len(length) + len(told)), key, length, told)


@lru_cache(maxsize=64)
def _key(name: str) -> bytes:
    """An attribute's name, and what stands before its value."""
    key = field(values.KeyValue.KEY_FIELD_NUMBER, _text(name).encode())
    return key + tag(values.KeyValue.VALUE_FIELD_NUMBER, BYTES)


@lru_cache(maxsize=64)
def _event(name: str) -> tuple[bytes, bytes]:
    """What stands before and after an event's time."""
    after = field(otlp.Span.Event.NAME_FIELD_NUMBER, _text(name).encode())
    before = tag(otlp.Span.EVENTS_FIELD_NUMBER, BYTES) + varint(len(_EVENT_TIME) + 8 + len(after)) + _EVENT_TIME
    return before, after


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
