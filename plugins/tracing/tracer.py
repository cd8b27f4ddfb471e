"""One span per request, made when it is over of what its record knows.

Attributes are those of OpenTelemetry's semantic conventions for generative AI (client inference), what they have no
word for begins with `hookline.`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Protocol

import attrs
from opentelemetry import context, trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core import Record
from plugins.tracing.spans import Common, Key, Span, common_of, key_of, own_attributes

SAMPLED: Final = trace.TraceFlags(trace.TraceFlags.SAMPLED)
UNSAMPLED: Final = trace.TraceFlags(trace.TraceFlags.DEFAULT)

KEPT: Final = 500
"""Sorts of requests that are kept in mind."""

_LOW: Final = (1 << 64) - 1


class Processor(Protocol):
    """Takes finished spans: a SpanProcessor, as far as it is needed here."""

    def on_end(self, span: Any) -> None:
        """Take one; it is sampled."""


@attrs.frozen(eq=False)
class Tracer:
    """Makes spans and gives them to the processor. `upstreams` are attributes by backend."""

    processor: Processor
    ratio: float
    upstreams: Mapping[str, Mapping[str, Any]]
    _bound: int = attrs.field(init=False)
    _common: dict[Key, Common] = attrs.field(init=False, factory=dict)
    _ids: RandomIdGenerator = attrs.field(init=False, factory=RandomIdGenerator)
    _propagator: TraceContextTextMapPropagator = attrs.field(init=False, factory=TraceContextTextMapPropagator)

    @_bound.default
    def _bound_of_ratio(self) -> int:
        return TraceIdRatioBased.get_bound_for_rate(self.ratio)

    def begin(self, record: Record) -> Trace:
        """A context around one request."""
        parent = self._parent(record)
        if parent is None:
            number = self._ids.generate_trace_id()
            flags, state = (SAMPLED if (number & _LOW) < self._bound else UNSAMPLED), None
        else:
            # Whoever began the trace has decided, for all who take part.
            number, flags, state = parent.trace_id, parent.trace_flags, parent.trace_state
        own = trace.SpanContext(number, self._ids.generate_span_id(), False, flags, state)
        return Trace(self, record, own, parent)

    def end(self, record: Record, own: trace.SpanContext, parent: trace.SpanContext | None) -> None:
        """Make the span of a request that is over."""
        key = key_of(record)
        common = self._common.get(key)
        if common is None:
            if len(self._common) >= KEPT:
                self._common.clear()
            common = self._common[key] = common_of(record, self.upstreams)
        since = time.time_ns() - time.monotonic_ns()
        moments = (("accepted", record.accepted), ("first_token", record.first_delta))
        span = Span(
            own,
            parent,
            common,
            start=since + int(record.started * 1e9),
            end=since + int(record.ended * 1e9),
            events=tuple([(name, since + int(at * 1e9)) for name, at in moments if at]),
            attributes=own_attributes(record),
        )
        self.processor.on_end(span)

    def forget(self) -> None:
        """What is told of the backends has changed."""
        self._common.clear()

    def _parent(self, record: Record) -> trace.SpanContext | None:
        """The client's span, if it names one."""
        value = record.http.header("traceparent")
        if not value:
            return None
        carrier = {"traceparent": value, "tracestate": record.http.header("tracestate")}
        found = trace.get_current_span(self._propagator.extract(carrier)).get_span_context()
        return found if found.is_valid else None


@attrs.define(eq=False)
class Trace:
    """The span of one request. While it runs, OpenTelemetry's current span is this one."""

    tracer: Tracer
    record: Record
    own: trace.SpanContext
    parent: trace.SpanContext | None
    _token: Any = None

    async def __aenter__(self) -> None:
        self.record.trace_id = f"{self.own.trace_id:032x}"
        self._token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(self.own)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        context.detach(self._token)
        if self.own.trace_flags.sampled:
            self.tracer.end(self.record, self.own, self.parent)
