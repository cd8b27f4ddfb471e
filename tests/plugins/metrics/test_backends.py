from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core import Record, UpstreamError
from core.balance.state import BackendState
from core.config import BackendConfig
from core.record import Missed
from plugins.metrics import backends
from plugins.metrics.backends import Backends
from plugins.metrics.values import Files
from tests.plugins.metrics.samples import answered, value
from tests.plugins.metrics.test_meters import page


def state() -> BackendState:
    return BackendState(BackendConfig("b", ("p",), max_concurrent=2))


def test_who_did_not_serve_is_counted_by_reason(tmp_path: Path) -> None:
    counted = Backends(Files(tmp_path, "1-a"))
    record: Record = answered()
    record.attempts = [Missed("a", "overloaded", "529 busy"), Missed("b", "cooling", "cooling down")]
    counted.take(record)
    record.attempts = [Missed("a", "overloaded", "529 another sentence")]
    counted.take(record)
    counted.take(answered())
    found = page(tmp_path)
    assert value(found, "hookline_failovers_total", backend="a", reason="overloaded") == 2
    assert value(found, "hookline_failovers_total", backend="b", reason="cooling") == 1


def test_health_and_places_as_they_are(tmp_path: Path) -> None:
    counted, here = Backends(Files(tmp_path, "1-a")), state()
    counted.see({"b": here})
    places = [here.places.place() for _ in range(2)]
    assert all(place.take() for place in places)
    here.health.begin().failed(UpstreamError("busy", kind="overloaded", retry_after=1))
    counted.look()
    found = page(tmp_path)
    assert value(found, "hookline_backend_places_held", backend="b") == 2
    assert value(found, "hookline_backend_waiting", backend="b") == 0
    assert value(found, "hookline_backend_unhealthy", backend="b") == 1
    here.health.begin().won()
    places[0].give_back()
    counted.look()
    found = page(tmp_path)
    assert value(found, "hookline_backend_places_held", backend="b") == 1
    assert value(found, "hookline_backend_unhealthy", backend="b") == 0


def test_a_backend_that_is_gone_has_nothing(tmp_path: Path) -> None:
    counted, here = Backends(Files(tmp_path, "1-a")), state()
    counted.see({"b": here})
    assert here.places.place().take()
    counted.look()
    counted.see({"c": state()})
    counted.look()
    assert value(page(tmp_path), "hookline_backend_places_held", backend="b") == 0


@pytest.mark.anyio
async def test_it_looks_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "LOOK", 0.001)
    counted, here = Backends(Files(tmp_path, "1-a")), state()
    counted.see({"b": here})
    looking = asyncio.create_task(counted.looking())
    try:
        async with asyncio.timeout(5):
            for taken in (1, 2):
                assert here.places.place().take()
                while True:
                    await asyncio.sleep(0.002)
                    found = page(tmp_path)
                    names = {name for name, _ in found}
                    if (
                        "hookline_backend_places_held" in names
                        and value(found, "hookline_backend_places_held") == taken
                    ):
                        break
    finally:
        looking.cancel()


@pytest.mark.anyio
async def test_nothing_is_left_of_one_that_looks_no_more(tmp_path: Path) -> None:
    counted, here = Backends(Files(tmp_path, "1-a")), state()
    counted.see({"b": here})
    assert here.places.place().take()
    counted.look()
    looking = asyncio.create_task(counted.looking())
    await asyncio.sleep(0)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert value(page(tmp_path), "hookline_backend_places_held", backend="b") == 0
