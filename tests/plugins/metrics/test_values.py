from __future__ import annotations

import os
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from plugins.metrics.values import SIZE, Files, Metric

COUNT = Metric("c", "Counts.", ("who",))
TIMES = Metric("h", "Times.", ("who",))
NOW = Metric("g", "Now.")


def read(directory: Path, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))
    return registry.get_sample_value(name, labels)


def test_the_files_of_several_are_summed(tmp_path: Path) -> None:
    for seat, amount in (("1-a", 2), ("1-b", 3)):
        files = Files(tmp_path, seat)
        files.value("counter", COUNT, ["x"], suffix="_total").add(amount)
        files.value("gauge", NOW, []).add(amount)
    assert read(tmp_path, "c_total", who="x") == 5
    assert read(tmp_path, "g") == 5


def test_a_value_is_there_before_it_is_changed(tmp_path: Path) -> None:
    value = Files(tmp_path, "1-a").value("counter", COUNT, ["x"], suffix="_total")
    assert read(tmp_path, "c_total", who="x") == 0
    value.add(7)
    value.add(-2)
    assert read(tmp_path, "c_total", who="x") == 5


def test_a_distribution_has_buckets_that_hold_those_before_them(tmp_path: Path) -> None:
    times = Files(tmp_path, "1-a").distribution(TIMES, ["x"], (1.0, 2.5))
    for seconds in (0.5, 1.0, 2.0, 9.0):
        times.observe(seconds)
    buckets = {bound: read(tmp_path, "h_bucket", who="x", le=bound) for bound in ("1.0", "2.5", "+Inf")}
    assert buckets == {"1.0": 2, "2.5": 3, "+Inf": 4}
    assert read(tmp_path, "h_sum", who="x") == 12.5
    assert read(tmp_path, "h_count", who="x") == 4


def test_a_file_grows_and_its_space_is_real(tmp_path: Path) -> None:
    files = Files(tmp_path, "1-a")
    values = [files.value("counter", COUNT, [f"{number}-{'x' * 100}"], suffix="_total") for number in range(1000)]
    values[0].add(1)
    values[-1].add(2)
    assert read(tmp_path, "c_total", who=f"0-{'x' * 100}") == 1
    assert read(tmp_path, "c_total", who=f"999-{'x' * 100}") == 2
    found = (tmp_path / "counter_1-a.db").stat()
    assert found.st_size > SIZE
    assert found.st_blocks * 512 >= found.st_size


def test_a_full_disk_is_an_error_and_not_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    files = Files(tmp_path, "1-a")
    first = files.value("counter", COUNT, ["x"])
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        fill(files)
    first.add(1)
    assert read(tmp_path, "c", who="x") == 1


def fill(files: Files) -> None:
    for number in range(1000):
        files.value("counter", COUNT, [f"{number}-{'x' * 200}"])
