from __future__ import annotations

import time

import pytest

from core.serve.dated import Dated


def test_the_date_is_that_of_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000_000.9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    config = Dated()
    config.include_server_header = False
    first = config.response_headers("h11")
    assert [name for name, _ in first] == [b"date"]
    now[0] = 1_000_000_000.99
    assert config.response_headers("h11") is first
    now[0] = 1_000_000_001.0
    assert config.response_headers("h11") is not first
