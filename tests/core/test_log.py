from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import structlog

from core.log import configure_logs


@pytest.fixture(autouse=True)
def _fresh_structlog() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def test_a_line_is_one_json_object_on_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    configure_logs()
    structlog.get_logger().info("request", id="req_1", words="a\nb")
    out, err = capfdbinary.readouterr()
    line = json.loads(out)
    assert (line["event"], line["id"], line["words"], line["level"]) == ("request", "req_1", "a\nb", "info")
    assert line["timestamp"].endswith("Z")
    assert out.count(b"\n") == 1
    assert err == b""


def test_a_fault_carries_its_trace_and_odd_text_costs_no_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    configure_logs()
    log = structlog.get_logger()
    try:
        int("inner")
    except ValueError:
        log.exception("fault")
    log.info("request", model="\ud800")
    out, _ = capfdbinary.readouterr()
    first, second = out.splitlines()
    assert "ValueError" in json.loads(first)["exception"]
    assert b"ud800" in second
