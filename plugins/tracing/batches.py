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
import httpx
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from plugins.tracing.encoding import Encoder
from plugins.tracing.spans import Span

TIME: Final = 5.0
"""Seconds that the collector has for a batch."""

FLUSH: Final = 4.0
"""Seconds that the last spans have at the end."""

QUEUE: Final = 8192
"""Spans that wait at most; more are dropped, the oldest first."""

BATCH: Final = 512
"""Spans that go in one request, and for which it is not waited for more."""


def sending(
    endpoint: str, headers: Mapping[str, str], service: str
) -> tuple[SpanProcessor, AbstractAsyncContextManager[None]]:
    """What takes spans, and the context in which they are sent."""
    # What it has to say, at every span that finds the queue full say, is said once by the exporter here.
    logging.getLogger("opentelemetry.sdk").setLevel(logging.CRITICAL)
    resource = Resource.create({"service.name": service, "service.version": version("hookline")})
    encoder = Encoder(dict(resource.attributes), "hookline", version("hookline"))
    exporter = Exporter(endpoint, headers, encoder)
    processor = BatchSpanProcessor(exporter, QUEUE, schedule_delay_millis=2000, max_export_batch_size=BATCH)
    return processor, _flushed(processor)


class Exporter(SpanExporter):
    """Sends batches. A batch that fails is lost; the log says when that begins and when it is over."""

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
        self._lost = 0
        self._log = structlog.get_logger()

    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        """Send a batch of our own spans; never raises."""
        why = self._send(spans)
        if why:
            if not self._lost:
                self._log.warning("traces cannot be sent", collector=_host(self._endpoint), why=why)
            self._lost += len(spans)
            return SpanExportResult.FAILURE
        if self._lost:
            self._log.info("traces are sent again", collector=_host(self._endpoint), lost=self._lost)
            self._lost = 0
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the connection."""
        self._http.close()

    def _send(self, spans: Sequence[Span]) -> str:
        """Why the batch is lost, or ""."""
        try:
            response = self._http.post(self._endpoint, content=self._encoder.request(spans))
        except Exception as error:  # noqa: BLE001  whatever it is, it must not end the thread
            return f"{type(error).__name__}: {error}"
        return "" if response.is_success else f"status {response.status_code}"


@asynccontextmanager
async def _flushed(processor: SpanProcessor) -> AsyncIterator[None]:
    """At the end what waits is sent, as far as that is possible within `FLUSH`."""
    try:
        yield
    finally:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def end() -> None:
            processor.shutdown()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(done.set)

        # A daemon, for it waits half a minute for a collector that hangs, and would hold the process up.
        threading.Thread(target=end, name="traces-flush", daemon=True).start()
        with anyio.move_on_after(FLUSH, shield=True):
            await done.wait()


def _host(endpoint: str) -> str:
    """The endpoint without what may be secret in it."""
    url = httpx.URL(endpoint)
    return f"{url.scheme}://{url.host}" + (f":{url.port}" if url.port else "")
