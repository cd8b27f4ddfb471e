from __future__ import annotations

import pytest
from opentelemetry import trace

from core import Record, Request
from plugins.tracing.spans import KEPT, Span
from plugins.tracing.tracer import Tracer
from tests.plugins.tracing.samples import PARENT, TRACE, Kept, answered

pytestmark = pytest.mark.anyio


async def span_of(record: Record, ratio: float = 1.0) -> Span | None:
    kept = Kept()
    Tracer(kept, ratio, {}).take([record])
    return kept.spans[0] if kept.spans else None


async def test_a_span_and_its_times() -> None:
    record = answered()
    span = await span_of(record)
    assert span is not None
    assert (span.common.name, span.parent) == ("chat up", None)
    assert record.trace_id == f"{span.context.trace_id:032x}"
    assert span.end - span.start == 2_000_000_000
    moments = {name: at - span.start for name, at in span.events}
    assert moments == {"accepted": 500_000_000, "first_token": 1_000_000_000}


async def test_what_is_common_is_made_once_and_kept_in_bounds() -> None:
    kept, record = Kept(), answered()
    tracer = Tracer(kept, 1.0, {})
    for number in range(3):
        record.trace_id = str(number)
        tracer.take([record])
    assert len({id(span.common) for span in kept.spans}) == 1
    tracer.forget()
    for number in range(2 * KEPT):
        record.request = Request("message", model=f"m{number}")
        tracer.take([record])
    assert len(tracer._common) <= KEPT
    assert len({id(span.common) for span in kept.spans}) == 1 + 2 * KEPT


async def test_what_is_told_of_backends_can_change() -> None:
    kept, upstreams = Kept(), {"b": {"server.address": "old"}}
    tracer = Tracer(kept, 1.0, upstreams)
    for address in ("old", "new"):
        upstreams["b"] = {"server.address": address}
        tracer.forget()
        tracer.take([answered()])
    assert [span.common.attributes["server.address"] for span in kept.spans] == ["old", "new"]


async def test_the_client_is_the_parent() -> None:
    record = answered(("traceparent", PARENT), ("tracestate", "vendor=1"))
    span = await span_of(record, ratio=0.0)
    assert span is not None
    assert span.parent is not None
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, "00f067aa0ba902b7")
    assert span.context.span_id != span.parent.span_id
    assert span.context.trace_state.get("vendor") == "1"


async def test_the_client_decides() -> None:
    assert await span_of(answered(("traceparent", f"{PARENT[:-2]}00"))) is None


@pytest.mark.parametrize(
    "value", ["", "nonsense", f"00-{'0' * 32}-00f067aa0ba902b7-01", f"ff-{TRACE}-00f067aa0ba902b7-01"]
)
async def test_what_is_no_parent(value: str) -> None:
    span = await span_of(answered(("traceparent", value)))
    assert span is not None
    assert span.parent is None


@pytest.mark.parametrize(("ratio", "low", "high"), [(0.0, 0, 0), (0.5, 350, 650), (1.0, 1000, 1000)])
async def test_the_share_that_is_traced(ratio: float, low: int, high: int) -> None:
    kept = Kept()
    tracer = Tracer(kept, ratio, {})
    for _ in range(1000):
        tracer.take([answered()])
    assert low <= len(kept.spans) <= high


async def test_it_is_the_current_span_while_it_runs() -> None:
    record, kept = answered(), Kept()
    tracer = Tracer(kept, 1.0, {})
    async with tracer.begin(record):
        current = trace.get_current_span().get_span_context()
        assert f"{current.trace_id:032x}" == record.trace_id
    tracer.take([record])
    assert kept.spans[0].context == current
    assert not trace.get_current_span().get_span_context().is_valid
