from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry.sdk.trace.export import SpanExportResult
from structlog.testing import capture_logs

from plugins.tracing import batches
from plugins.tracing.batches import Exporter, sending
from plugins.tracing.encoding import Encoded, Encoder
from plugins.tracing.tracer import Tracer
from tests.plugins.tracing.samples import Kept, answered, received

pytestmark = pytest.mark.anyio

ENDPOINT = "http://user:secret@collector:4318/v1/traces?key=secret"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "PAUSE", 0.0)


async def spans() -> list[Encoded]:
    kept = Kept()
    Tracer(kept, 1.0, {}).take([answered()])
    return [Encoder({}, "s", "1").span(span) for span in kept.spans]


class Collector(httpx.BaseTransport):
    """Answers with these statuses, one after the other; 0: it cannot be reached."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        status = self.statuses.pop(0)
        if not status:
            raise httpx.ConnectError("refused")
        return httpx.Response(status)


def exporter(collector: Collector) -> Exporter:
    return Exporter(ENDPOINT, {"x-key": "k"}, Encoder({}, "s", "1"), collector)


async def test_what_is_sent() -> None:
    collector = Collector(200)
    assert exporter(collector).export(await spans()) is SpanExportResult.SUCCESS
    (request,) = collector.requests
    assert (request.headers["content-type"], request.headers["x-key"]) == ("application/x-protobuf", "k")
    assert [span.name for span in received(request.content)] == ["chat up"]


async def test_the_log_says_when_it_begins_to_fail_and_when_it_is_over() -> None:
    sent = await spans()
    collector = Collector(0, 503, 500, 200, 200, 404, 200)
    out = exporter(collector)
    with capture_logs() as logs:
        results = [out.export(sent) for _ in range(5)]
    assert collector.statuses == []
    assert [result is SpanExportResult.SUCCESS for result in results] == [False, True, True, False, True]
    assert [line["event"] for line in logs] == ["traces cannot be sent", "traces are sent again"] * 2
    assert (logs[0]["why"], logs[1]["lost"]) == ("ConnectError: refused", 1)
    assert (logs[2]["why"], logs[3]["lost"]) == ("status 404", 1)
    assert "secret" not in repr(logs)


async def test_what_cannot_be_taken_now_is_sent_again_so_often_and_no_more() -> None:
    collector = Collector(*[0, 429, 502, 503, 504, 200], *[503] * batches.TRIES)
    out = exporter(collector)
    sent = await spans()
    assert [out.export(sent) for _ in range(2)] == [SpanExportResult.SUCCESS, SpanExportResult.FAILURE]
    assert len({request.content for request in collector.requests}) == 1
    assert collector.statuses == []


async def test_at_the_end_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "PAUSE", 1000.0)
    collector = Collector(0, 0)
    out = exporter(collector)
    out.hurry()
    assert out.export(await spans()) is SpanExportResult.FAILURE
    assert len(collector.requests) == 1


async def test_spans_that_cannot_be_encoded_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    out = exporter(Collector(200))
    monkeypatch.setattr(out, "_encoder", None)
    with capture_logs() as logs:
        assert out.export(await spans()) is SpanExportResult.FAILURE
    assert "AttributeError" in logs[0]["why"]


class Hanging(Exporter):
    """A collector that takes a request and never answers."""

    def __init__(self) -> None:
        super().__init__(ENDPOINT, {}, Encoder({}, "s", "1"))
        self.asked = threading.Event()
        self.go = threading.Event()

    def _send(self, body: bytes) -> tuple[str, bool]:
        self.asked.set()
        self.go.wait(20)
        return "", False


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    exporter = Hanging()
    monkeypatch.setattr(batches, "Exporter", lambda *_: exporter)
    before = set(threading.enumerate())
    yield exporter
    exporter.go.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive(), "a thread would write while the next test runs"


async def test_at_the_end_what_waits_is_sent_within_a_bound(hanging: Hanging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "FLUSH", 0.1)
    processor, running = sending(ENDPOINT, {}, "s")
    began = time.monotonic()
    async with running:
        Tracer(processor, 1.0, {}).take([answered()])
    assert hanging.asked.wait(5)
    assert 0.1 <= time.monotonic() - began < 5


async def test_requests_never_wait_for_a_collector_that_hangs(
    hanging: Hanging, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batches, "FLUSH", 0.01)
    processor, running = sending(ENDPOINT, {}, "s")
    tracer = Tracer(processor, 1.0, {})
    async with running:
        tracer.take([answered()] * (batches.QUEUE + 2 * batches.BATCH))
        assert hanging.asked.wait(5)
    assert capfd.readouterr() == ("", "")
