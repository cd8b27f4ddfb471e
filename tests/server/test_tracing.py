"""A trace through a real server: from the client's span to the upstream's header, the collector and the log."""

from __future__ import annotations

from pathlib import Path

import httpx

from core.testing import MockUpstream
from tests.plugins.tracing.collector import collector
from tests.plugins.tracing.samples import PARENT, TRACE, received, values
from tests.server.serve import serve

TABLES = """
[pipelines.watched]
paths = ["/w"]
plugins = ["anthropic", "models", "tracing", "access_log"]
[models]
"m" = {{ backend = "up", model = "real" }}
[backends.up]
plugins = ["vllm"]
url = "{upstream}"
[tracing]
endpoint = "{collector}"
service_name = "mine"
propagate = true
"""
BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "private words"}]}


def test_one_trace_from_end_to_end(tmp_path: Path) -> None:
    upstream = MockUpstream()
    with upstream.in_thread(), collector() as (endpoint, got):
        with serve(tmp_path, tables=TABLES.format(upstream=upstream.url, collector=endpoint)) as served:
            headers = {"traceparent": PARENT}
            answer = httpx.post(f"{served.url}/w/messages", json=BODY, headers=headers, timeout=20)
            assert answer.status_code == 200
            assert served.end() == 0
            (line,) = served.lines("request")
            assert line["trace_id"] == TRACE
        (span,) = [span for _, body in got for span in received(body)]
        attributes = values(span.attributes)
        assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == ("chat real", TRACE, PARENT.split("-")[2])
        assert attributes["hookline.request.id"] == answer.headers["request-id"] == line["id"]
        assert attributes["gen_ai.provider.name"] == "vllm"
        assert not [body for _, body in got if b"private" in body]
        told = dict(upstream.exchanges[0].headers)
        assert told["traceparent"] == f"00-{TRACE}-{span.span_id.hex()}-01"


def test_a_collector_that_is_not_there_costs_one_line(tmp_path: Path) -> None:
    upstream = MockUpstream()
    with upstream.in_thread():
        nowhere = "http://127.0.0.1:9/v1/traces"
        with serve(tmp_path, tables=TABLES.format(upstream=upstream.url, collector=nowhere)) as served:
            for _ in range(5):
                assert httpx.post(f"{served.url}/w/messages", json=BODY, timeout=20).status_code == 200
            assert served.end() == 0
        assert len(served.lines("traces cannot be sent")) == 1
        assert "Traceback" not in served.log.read_text()
