from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from core import Traffic
from plugins.metrics.meters import Meters
from plugins.metrics.run import Run
from plugins.metrics.scrape import page_of
from plugins.metrics.sums import Sums
from plugins.metrics.values import Files
from tests.plugins.metrics.samples import answered, parsed, value


def test_two_seats_are_one_page(tmp_path: Path) -> None:
    runs = [Run.join(tmp_path / "b", "r") for _ in range(2)]
    for run in runs:
        meters = Meters(Files(run.directory, run.seat), 5)
        meters.take([answered()], Traffic("p"))
    first, second = (parsed(page_of(run, Sums())) for run in runs)
    assert first.keys() == second.keys()
    assert value(first, "hookline_requests_total", outcome="end_turn") == 2
    assert value(first, "hookline_build_info", version=version("hookline")) == 1
    assert value(first, "hookline_workers") == 1  # they are of one process
    for run in runs:
        run.leave()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_what_the_system_knows(tmp_path: Path) -> None:
    run = Run.join(tmp_path / "b", "r")
    found = parsed(page_of(run, Sums()))
    pid = str(os.getpid())
    assert value(found, "process_cpu_seconds_total", pid=pid) > 0
    assert value(found, "process_resident_memory_bytes", pid=pid) > 1e6
    assert value(found, "process_open_fds", pid=pid) > 2
    assert value(found, "process_start_time_seconds", pid=pid) > 1e9
    run.leave()


def test_a_directory_that_somebody_removed(tmp_path: Path) -> None:
    run = Run.join(tmp_path / "b", "r")
    shutil.rmtree(run.directory)
    with pytest.raises(OSError, match="something else has removed it"):
        page_of(run, Sums())
    run.leave()
