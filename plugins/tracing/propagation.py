"""The trace goes on to the upstream: a header on what the call sends."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import attrs
import httpx
from opentelemetry import trace

from core import UpstreamCall
from core.chat import Call, UpstreamClient


class Propagation:
    """Makes calls tell their trace. Each client gets one transport for it, which looks the trace up when it sends."""

    def __init__(self) -> None:
        self._telling: WeakKeyDictionary[UpstreamClient, UpstreamClient] = WeakKeyDictionary()

    def told(self, call: UpstreamCall) -> UpstreamCall:
        """The call, with the current trace in its requests' headers; one that sends no HTTP stays as it is."""
        if not isinstance(call, Call):
            return call
        telling = self._telling.get(call.client)
        if telling is None:
            telling = self._telling[call.client] = call.client.through(Telling)
        return attrs.evolve(call, client=telling)


class Telling(httpx.AsyncBaseTransport):
    """Adds the headers of the current trace to each request; all else is the inner transport's."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The inner transport's answer."""
        current = trace.get_current_span().get_span_context()
        if current.is_valid:
            told = f"00-{current.trace_id:032x}-{current.span_id:016x}-{current.trace_flags:02x}"
            request.headers["traceparent"] = told
            if current.trace_state:
                request.headers["tracestate"] = current.trace_state.to_header()
        return await self._inner.handle_async_request(request)
