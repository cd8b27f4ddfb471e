"""Spans on their way to the collector: in batches, from a thread of their own, and never in a request's way."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any, Final

import anyio
import attrs
import httpx
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from plugins.tracing.encoding import Encoder
from plugins.tracing.spans import Span

TIME: Final = 5.0
"""Seconds that the collector has for a batch."""

_LATER: Final = (429, 502, 503, 504)
"""Statuses of a collector that may take the same batch later."""

FLUSH: Final = 4.0
"""Seconds that the last spans have at the end."""

PAUSE: Final = 1.0
"""Seconds before a batch is sent again that the collector could not take."""

TRIES: Final = 10
"""How often a batch is sent; what comes meanwhile waits."""

QUEUE: Final = 8192
"""Spans that wait at most; more are dropped, the oldest first."""

BATCH: Final = 512
"""Spans that go in one request, and for which it is not waited for more."""


def sending(endpoint: str, headers: Mapping[str, str], service: str) -> tuple[Queue, AbstractAsyncContextManager[None]]:
    """What takes spans, and the context in which they are sent."""
    # What it has to say, at every span that finds the queue full say, is said once by the exporter here.
    logging.getLogger("opentelemetry.sdk").setLevel(logging.CRITICAL)
    resource = Resource.create({"service.name": service, "service.version": version("hookline")})
    encoder = Encoder(dict(resource.attributes), "hookline", version("hookline"))
    exporter = Exporter(endpoint, headers, encoder)
    processor = BatchSpanProcessor(exporter, QUEUE, schedule_delay_millis=2000, max_export_batch_size=BATCH)
    return Queue(processor, encoder), _flushed(processor, exporter)


@attrs.frozen(eq=False)
class Queue:
    """Where spans wait for the collector."""

    waiting: SpanProcessor
    encoder: Encoder

    def on_end(self, span: Span) -> None:
        """Take one."""
        encoded: Any = self.encoder.span(span)
        self.waiting.on_end(encoded)


class Exporter(SpanExporter):
    """Sends batches. One that the collector cannot take now is sent again after a pause, and all others wait: a short
    outage costs no span, and a long one hardly any time. The log says when it begins to fail and when that is over.
    """

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        encoder: Encoder,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._encoder = encoder
        fixed = {**headers, "content-type": "application/x-protobuf"}
        self._http = httpx.Client(headers=fixed, timeout=TIME, transport=transport, trust_env=False)
        self._failing = False
        self._lost = 0
        self._ends = threading.Event()
        self._log = structlog.get_logger()

    def hurry(self) -> None:
        """Wait for nothing any more: each batch is sent once."""
        self._ends.set()

    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        """Send a batch of `Encoded`; never raises."""
        try:
            taken = self._sent(self._encoder.request(spans))
        except Exception as error:  # noqa: BLE001  whatever it is, it must not end the thread
            self._tell(_words(error))
            taken = False
        if taken:
            return SpanExportResult.SUCCESS
        self._lost += len(spans)
        return SpanExportResult.FAILURE

    def _sent(self, body: bytes) -> bool:
        """Whether the collector took it, now or after some pauses."""
        for _ in range(TRIES):
            why, again = self._send(body)
            self._tell(why)
            if not again or self._ends.wait(PAUSE):
                break
        return not why

    def _tell(self, why: str) -> None:
        if bool(why) is self._failing:
            return
        self._failing = bool(why)
        collector = _host(self._endpoint)
        if why:
            self._log.warning("traces cannot be sent", collector=collector, why=why)
        else:
            self._log.info("traces are sent again", collector=collector, lost=self._lost)
            self._lost = 0

    def shutdown(self) -> None:
        """Close the connection."""
        self._http.close()

    def _send(self, body: bytes) -> tuple[str, bool]:
        """Why the batch was not taken, or ""; and whether it may be taken later (OTLP 1.10, "Failures")."""
        try:
            response = self._http.post(self._endpoint, content=body)
        except httpx.TransportError as error:
            return _words(error), True
        if response.is_success:
            return "", False
        return f"status {response.status_code}", response.status_code in _LATER


@asynccontextmanager
async def _flushed(processor: SpanProcessor, exporter: Exporter) -> AsyncIterator[None]:
    """At the end what waits is sent, as far as that is possible within `FLUSH`."""
    try:
        yield
    finally:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        exporter.hurry()

        def end() -> None:
            processor.shutdown()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(done.set)

        # A daemon, for it waits half a minute for a collector that hangs, and would hold the process up.
        threading.Thread(target=end, name="traces-flush", daemon=True).start()
        with anyio.move_on_after(FLUSH, shield=True):
            await done.wait()


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _host(endpoint: str) -> str:
    """The endpoint without what may be secret in it."""
    url = httpx.URL(endpoint)
    return f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else "")
