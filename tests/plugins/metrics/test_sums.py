from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from core import Traffic
from plugins.metrics.meters import Meters
from plugins.metrics.sums import Sums
from plugins.metrics.values import Files, Metric
from tests.plugins.metrics.samples import answered, parsed, value


def count(directory: Path, seat: str, *models: str) -> Meters:
    meters = Meters(Files(directory, seat), 10)
    meters.take([answered(model, stream=model != "whole") for model in models], Traffic("p", running=1))
    return meters


def test_it_is_what_the_library_makes(tmp_path: Path) -> None:
    kept = [count(tmp_path, "1-a", "x", "y", "x"), count(tmp_path, "2-b", "y", "whole", "z")]
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(tmp_path))
    ours, theirs = Sums().text(tmp_path), generate_latest(registry).decode()
    assert parsed(ours.encode()) == parsed(theirs.encode())
    assert sorted(line for line in ours.splitlines() if line[0] == "#") == sorted(
        line for line in theirs.splitlines() if line[0] == "#"
    )
    assert len(kept) == 2


def test_it_goes_with_the_time(tmp_path: Path) -> None:
    sums, meters = Sums(), count(tmp_path, "1-a", "x")
    assert value(parsed(sums.text(tmp_path).encode()), "hookline_requests_total") == 1
    meters.take([answered("x"), answered("new")], Traffic("p"))
    found = parsed(sums.text(tmp_path).encode())
    assert value(found, "hookline_requests_total") == 3
    assert value(found, "hookline_time_to_first_byte_seconds_count", model="x") == 2


def test_labels_are_escaped(tmp_path: Path) -> None:
    wild = 'quote" back\\slash\nline ü'
    counter = Files(tmp_path, "1-a").value("counter", Metric("c", "Help.", ("who",)), [wild], suffix="_total")
    counter.add(1)
    assert value(parsed(Sums().text(tmp_path).encode()), "c_total", who=wild) == 1


def test_nothing_is_nothing(tmp_path: Path) -> None:
    assert Sums().text(tmp_path) == ""
