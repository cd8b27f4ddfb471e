"""A report says what holds and what does not."""

from __future__ import annotations

import pytest

from core.testing import Failure, Report


def test_a_clean_report_is_ok() -> None:
    Report(("a", "b")).assert_ok()
    assert str(Report(("a", "b"))) == "2 rules hold, 0 do not"


def test_failures_have_a_line_each() -> None:
    report = Report(("a",), (Failure("b", "it is lost"),), ("c",), {"d": "it is blind"})
    with pytest.raises(AssertionError, match="it is lost"):
        report.assert_ok()
    assert str(report).splitlines() == [
        "1 rules hold, 1 do not, 1 are left out, 1 were not run: a rule before them hung",
        "- b: it is lost",
        "- d is left out: it is blind",
    ]
