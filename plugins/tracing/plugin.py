"""The plugin itself: its options and its hooks. OpenTelemetry is imported when serving begins, not before."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from core import Config, ConfigError, Record, Secret, UpstreamCall, hookimpl
from plugins.tracing.upstreams import upstreams

if TYPE_CHECKING:
    from plugins.tracing.propagation import Propagation
    from plugins.tracing.tracer import Tracer

_NEEDED = ("opentelemetry.sdk.trace", "opentelemetry.proto.trace.v1.trace_pb2")


def _is_share(_: object, field: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{field.name} must be from 0 to 1")


@attrs.define
class _Serves:
    """What there is once serving has begun."""

    tracer: Any = None
    propagation: Any = None
    upstreams: dict[str, Any] = attrs.field(factory=dict)
    """Attributes by backend; after a reload those of backends that are no more stay for requests that still run."""


@attrs.frozen(eq=False)
class Tracing:
    """OpenTelemetry spans, one per request, by the GenAI conventions, sent to a collector. For a pipeline.

    Needs the extra `otel` of hookline. Nothing of what was said is in a span.
    """

    onlooker: ClassVar[bool] = True

    endpoint: str = "http://127.0.0.1:4318/v1/traces"
    """The collector: where it takes OTLP over HTTP, in protobuf."""
    headers: Mapping[str, Secret] = attrs.field(factory=dict)
    """Headers that the collector wants; a value may be { env = "NAME" }."""
    service_name: str = "hookline"
    """The name of this service among others."""
    sample_ratio: float = attrs.field(default=1.0, validator=_is_share)
    """The share of the requests that are traced, of those whose client has not decided it."""
    propagate: bool = False
    """Whether the upstream is told the trace, by the header traceparent: for engines that trace, too."""
    _serves: _Serves = attrs.field(init=False, repr=False, factory=_Serves)

    @property
    def unused(self) -> tuple[str, ...]:
        """The hooks that are for `propagate` alone: each would cost every request something."""
        return () if self.propagate else ("exchange", "call_upstream")

    @hookimpl
    def check(self, config: Config) -> None:
        """Refuse to start without OpenTelemetry, or with an endpoint that is none. Raises ConfigError."""
        if not _installed():
            raise ConfigError(
                "OpenTelemetry is not installed",
                hint="install hookline with its extra: pip install 'CHECKOUT[otel]', where CHECKOUT is its repository",
            )
        if not self.endpoint.startswith(("http://", "https://")):
            hint = f'write endpoint = "{attrs.fields(Tracing).endpoint.default}"'
            raise ConfigError("endpoint is no http:// or https:// URL", hint=hint)
        self._serves.upstreams.update(upstreams(config))
        if self._serves.tracer is not None:
            self._serves.tracer.forget()

    @hookimpl
    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Send spans in the background; those that are left at the end have a moment to go."""
        from plugins.tracing.batches import sending  # noqa: PLC0415  brings OpenTelemetry in
        from plugins.tracing.propagation import Propagation  # noqa: PLC0415  brings OpenTelemetry in
        from plugins.tracing.tracer import Tracer  # noqa: PLC0415  brings OpenTelemetry in

        headers = {name: value.reveal() for name, value in self.headers.items()}
        processor, running = sending(self.endpoint, headers, self.service_name)
        self._serves.tracer = Tracer(processor, self.sample_ratio, self._serves.upstreams)
        self._serves.propagation = Propagation() if self.propagate else None
        return running

    @hookimpl
    def exchange(self, record: Record) -> AbstractAsyncContextManager[None] | None:
        """Where the upstream is told: a context around the request, in which its trace is known."""
        tracer: Tracer | None = self._serves.tracer
        return None if tracer is None else tracer.begin(record)

    # First, so that the others find the trace in the record, wherever they are listed.
    @hookimpl(tryfirst=True)
    def observe(self, records: Sequence[Record]) -> None:
        """Make their spans."""
        tracer: Tracer | None = self._serves.tracer
        if tracer is not None:
            tracer.take(records)

    @hookimpl(wrapper=True)
    def call_upstream(self) -> Generator[None, UpstreamCall, UpstreamCall]:
        """The call, with a header that names the trace."""
        call = yield
        propagation: Propagation | None = self._serves.propagation
        return call if propagation is None else propagation.told(call)


def _installed() -> bool:
    try:
        return all(find_spec(module) is not None for module in _NEEDED)
    except ModuleNotFoundError:
        return False
