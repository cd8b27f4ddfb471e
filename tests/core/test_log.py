from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

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
    assert json.loads(second)["model"] == "?"


def test_what_orjson_does_not_take_is_json_all_the_same(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    configure_logs()
    endless: list[object] = []
    endless.append(endless)
    values = {"n": 2**70, 1: ("\udfff", None, True, 0.5), "deep": endless, "what": {1, 2}}
    structlog.get_logger().info("odd", values=values, small=-5)
    line = json.loads(capfdbinary.readouterr().out)
    assert (line["event"], line["level"], line["small"]) == ("odd", "info", -5)
    assert line["timestamp"].endswith("Z")
    values = line["values"]
    assert (values["n"], values["1"], values["what"]) == (str(2**70), ["?", None, True, 0.5], "{1, 2}")
    assert "[...]" in json.dumps(values["deep"])


def test_a_line_at_a_level_is_as_any_other(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    configure_logs()
    log = structlog.get_logger()
    log.log(logging.WARNING, "request", id="r")
    log.warning("request", id="r")
    log.bind(more=1).log(logging.ERROR, "of %s", "two")
    first, second, third = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert list(first) == list(second) == ["id", "event", "level", "timestamp"]
    assert first["level"] == second["level"] == "warning"
    assert (third["more"], third["event"], third["level"]) == (1, "of two", "error")
    with capture_logs() as lines:
        log.log(logging.INFO, "request", id="r")
    assert lines == [{"id": "r", "event": "request", "log_level": "info"}]


def test_a_value_of_no_json_type_is_told_by_its_repr(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    configure_logs()
    structlog.get_logger().info("odd", value=Secretive())
    assert json.loads(capfdbinary.readouterr().out)["value"] == "Secretive(***)"


class Secretive:
    """A value whose repr hides something."""

    def __repr__(self) -> str:
        return "Secretive(***)"


def test_a_line_that_cannot_be_written_is_lost_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        configure_logs()
        for _ in range(3):
            structlog.get_logger().info("draining", words="x" * 9000)
        with suppress(OSError):  # what is kept for it
            full.close()
