from __future__ import annotations

import gc
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from core import GatewayError, Record, RequestError, Stop, Traffic, Usage
from core.request import HTTPRequest, Request
from plugins.metrics.meters import Meters
from plugins.metrics.values import Files
from tests.plugins.metrics.samples import Samples, answered, parsed, value


def counted(directory: Path, *records: Record, max_models: int = 10) -> Samples:
    meters = Meters(Files(directory, "1-a"), max_models)
    meters.take(records, Traffic("p"))
    return page(directory)


def page(directory: Path) -> Samples:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))
    return parsed(generate_latest(registry))


def test_an_answer_in_full(tmp_path: Path) -> None:
    found = counted(tmp_path, answered(), answered())
    labels = {"pipeline": "p", "backend": "b", "model": "up", "stream": "true", "task": "message", "status": "200"}
    assert value(found, "hookline_requests_total", **labels, outcome="end_turn") == 2
    assert value(found, "hookline_requests_in_flight", pipeline="p") == 0
    assert value(found, "hookline_faults_total", pipeline="p") == 0
    assert value(found, "hookline_input_tokens_total", backend="b", model="up") == 60
    assert value(found, "hookline_cached_input_tokens_total", backend="b", model="up") == 20
    assert value(found, "hookline_output_tokens_total", backend="b", model="up") == 10
    means = {name: value(found, f"hookline_{name}_seconds_sum") / 2 for name in ("request_duration", *MEANS)}
    assert means == pytest.approx({"request_duration": 2.0, **MEANS})
    assert value(found, "hookline_time_to_first_token_seconds_bucket", le="1.0", stream="true") == 2


MEANS = {"time_to_first_token": 1.0, "time_to_first_byte": 1.2, "time_per_output_token": 0.25}


def test_streams_and_the_others_share_their_tokens(tmp_path: Path) -> None:
    found = counted(tmp_path, answered(), answered(stream=False))
    assert value(found, "hookline_output_tokens_total", model="up") == 10
    assert value(found, "hookline_request_duration_seconds_count", stream="true") == 1
    assert value(found, "hookline_request_duration_seconds_count", stream="false") == 1
    assert value(found, "hookline_time_per_output_token_seconds_count") == 1


def test_a_request_in_flight(tmp_path: Path) -> None:
    meters = Meters(Files(tmp_path, "1-a"), 1)
    before, after = Traffic("p", running=2), Traffic("p", running=1)
    for traffic in (before, after, before, Traffic("q", running=5)):
        meters.take([], traffic)
    assert value(page(tmp_path), "hookline_requests_in_flight", pipeline="p") == 3
    before.running = 0
    meters.take([], after)
    assert value(page(tmp_path), "hookline_requests_in_flight", pipeline="p") == 1


def test_those_of_a_gateway_that_is_gone_count_no_more(tmp_path: Path) -> None:
    meters = Meters(Files(tmp_path, "1-a"), 1)
    meters.take([], Traffic("p", running=2))
    gc.collect()
    meters.take([], Traffic("p", running=1))
    assert value(page(tmp_path), "hookline_requests_in_flight", pipeline="p") == 1


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({"stop": None}, "ok"),
        ({"stop": Stop("max_tokens")}, "max_tokens"),
        ({"error": RequestError("no", kind="rate_limit")}, "rate_limit"),
        ({"error": GatewayError("no"), "left": True}, "left"),
    ],
)
def test_how_it_ended(tmp_path: Path, change: dict[str, object], outcome: str) -> None:
    record = answered()
    for name, each in change.items():
        setattr(record, name, each)
    assert value(counted(tmp_path, record), "hookline_requests_total", outcome=outcome) == 1


def test_what_was_not_read_or_not_routed_has_no_times(tmp_path: Path) -> None:
    unread = Record(HTTPRequest("POST", "/"), pipeline="p", status=400, error=RequestError("no"))
    unrouted = Record(HTTPRequest("GET", "/"), pipeline="p", status=200, request=Request("models"))
    found = counted(tmp_path, unread, unrouted)
    assert value(found, "hookline_requests_total", task="", backend="", model="", status="400") == 1
    assert value(found, "hookline_requests_total", task="models", status="200", outcome="ok") == 1
    assert not [name for name, _ in found if "seconds_bucket" in name]


def test_faults(tmp_path: Path) -> None:
    record = answered()
    record.faults = 2
    assert value(counted(tmp_path, record), "hookline_faults_total", pipeline="p") == 2


def test_models_are_told_apart_up_to_a_number(tmp_path: Path) -> None:
    found = counted(tmp_path, *(answered(f"m{number}") for number in range(50)), max_models=3)
    labels = {dict(has)["model"] for name, has in found if name == "hookline_requests_total"}
    assert labels == {"m0", "m1", "m2", "other"}
    assert value(found, "hookline_requests_total", model="other") == 47


def test_counts_that_cannot_be_are_none(tmp_path: Path) -> None:
    record = answered()
    record.usage = Usage(-5, -1)
    found = counted(tmp_path, record)
    assert value(found, "hookline_input_tokens_total") == value(found, "hookline_output_tokens_total") == 0


def test_no_label_tells_the_client(tmp_path: Path) -> None:
    record = answered()
    headers = [(b"x-api-key", b"sk-secret-of-the-client"), (b"user-agent", b"spy")]
    record.http = HTTPRequest("POST", "/secret-path", headers=headers, client="10.9.8.7:5", id="req_1")
    text = repr(counted(tmp_path, record))
    assert not [word for word in ("sk-secret", "spy", "secret-path", "10.9.8.7", "req_1") if word in text]


def test_keys_are_counted_too(tmp_path: Path) -> None:
    record = answered()
    record.key = "ci"
    assert value(counted(tmp_path, record), "hookline_key_requests_total", key="ci", outcome="end_turn") == 1
