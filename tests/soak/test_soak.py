"""A minute of the soak, as CI runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.soak import Options, soak


@pytest.mark.soak
def test_a_minute_with_200_streams(tmp_path: Path) -> None:
    report = soak(tmp_path, Options())
    print("\n".join(report.lines()))
    assert not report.complaints, "\n".join(report.lines())
    assert report.hung == 0
    assert len(report.trouble) == 6
    # However slow the machine is, each kind of end has been seen.
    assert report.outcomes["well"] > 200
    assert {
        "an error event",
        "the client left",
        "cut off: the client stalled",
        "cut off: the worker was killed",
    } <= set(report.outcomes)
