"""One span per request, made when it is over of what its record knows.

Attributes are those of OpenTelemetry's semantic conventions for generative AI (client inference), what they have no
word for begins with `hookline.`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

import attrs
from opentelemetry import context, trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from core import Record
from plugins.tracing.spans import KEPT, Common, Key, Span, common_of, key_of, own_attributes

SAMPLED: Final = trace.TraceFlags(trace.TraceFlags.SAMPLED)
UNSAMPLED: Final = trace.TraceFlags(trace.TraceFlags.DEFAULT)

_LOW: Final = (1 << 64) - 1

Place = tuple[trace.SpanContext, trace.SpanContext | None]
"""A span's own context and that of its parent, the client's, if it has one."""


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
    known: WeakKeyDictionary[Record, Place] = attrs.field(init=False, factory=WeakKeyDictionary)
    """The places that were told already."""
    _bound: int = attrs.field(init=False)
    _common: dict[Key, Common] = attrs.field(init=False, factory=dict)
    _ids: RandomIdGenerator = attrs.field(init=False, factory=RandomIdGenerator)
    _propagator: TraceContextTextMapPropagator = attrs.field(init=False, factory=TraceContextTextMapPropagator)

    @_bound.default
    def _bound_of_ratio(self) -> int:
        return TraceIdRatioBased.get_bound_for_rate(self.ratio)

    def begin(self, record: Record) -> Tracing:
        """A context around one request that tells its trace: OpenTelemetry's current span is the request's."""
        return Tracing(self, record)

    def place(self, record: Record) -> Place:
        """The place of a request's span in its trace, which the record names from now on."""
        parent = self._parent(record)
        if parent is None:
            number = self._ids.generate_trace_id()
            flags, state = (SAMPLED if (number & _LOW) < self._bound else UNSAMPLED), None
        else:
            # Whoever began the trace has decided, for all who take part.
            number, flags, state = parent.trace_id, parent.trace_flags, parent.trace_state
        record.trace_id = f"{number:032x}"
        return trace.SpanContext(number, self._ids.generate_span_id(), False, flags, state), parent

    def take(self, records: Sequence[Record]) -> None:
        """Make the spans of requests that are over."""
        since = time.time_ns() - time.monotonic_ns()
        for record in records:
            own, parent = (self.known and self.known.get(record)) or self.place(record)
            if own.trace_flags.sampled:
                self.processor.on_end(self._span(record, own, parent, since))

    def _span(self, record: Record, own: trace.SpanContext, parent: trace.SpanContext | None, since: int) -> Span:
        key = key_of(record)
        common = self._common.get(key)
        if common is None:
            if len(self._common) >= KEPT:
                self._common.clear()
            common = self._common[key] = common_of(record, self.upstreams)
        moments = (("accepted", record.accepted), ("first_token", record.first_delta))
        return Span(
            own,
            parent,
            common,
            start=since + int(record.started * 1e9),
            end=since + int(record.ended * 1e9),
            events=tuple([(name, since + int(at * 1e9)) for name, at in moments if at]),
            attributes=own_attributes(record),
        )

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
class Tracing:
    """The span of one request while it runs."""

    tracer: Tracer
    record: Record
    _token: Any = None

    async def __aenter__(self) -> None:
        own, _ = self.tracer.known[self.record] = self.tracer.place(self.record)
        self._token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(own)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        context.detach(self._token)
