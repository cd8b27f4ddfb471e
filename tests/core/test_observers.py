"""The `observe` hook, through the gateway: requests that are over, a moment later, several at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from core import Chunk, HTTPRequest, Page, Record, Traffic, hookimpl, observers
from core.gateway import Gateway
from core.generations import Generations
from tests.core.fakes import Collected, gateway

pytestmark = pytest.mark.anyio


class Observer:
    """Writes down what it is told: the paths of the records, and how many run."""

    def __init__(self) -> None:
        self.told: list[tuple[list[str], int]] = []
        self.news = anyio.Event()

    @hookimpl
    def observe(self, records: Sequence[Record], traffic: Traffic) -> None:
        self.told.append(([record.http.path for record in records], traffic.running))
        self.news.set()
        self.news = anyio.Event()


class Broken:
    """Fails at what it is told."""

    @hookimpl
    def observe(self, records: Sequence[Record]) -> None:
        raise SystemExit(f"{len(records)} are too many")


async def hello() -> AsyncIterator[list[Chunk]]:
    yield [{"text": "hello", "end": True}]


def gateway_with(*front: object, script: Any = hello) -> Gateway:
    made, _ = gateway(script, front=front)
    return Gateway(made.loaded)


async def ask(served: Gateway, path: str = "/say", body: bytes = b"") -> Collected:
    sink = Collected()
    await served.handle(HTTPRequest("POST", f"/api{path}", id="req_1", body=body), sink)
    return sink


async def test_those_that_end_together_are_told_together_and_soon() -> None:
    observer = Observer()
    served = gateway_with(observer)
    for path in ("/say", "/refuse", "/stream"):
        await ask(served, path)
    assert observer.told == []
    with anyio.fail_after(5):
        await observer.news.wait()
    assert observer.told == [(["/say", "/refuse", "/stream"], 0)]


async def test_what_it_is_told_is_complete() -> None:
    seen: list[Record] = []

    class Keeps:
        @hookimpl
        def observe(self, records: Sequence[Record]) -> None:
            seen.extend(records)

    served = gateway_with(Keeps())
    await ask(served)
    served.tell()
    (record,) = seen
    assert (record.status, record.stop and record.stop.reason) == (200, "end_turn")
    assert record.ended >= record.first > 0


@pytest.mark.parametrize("what", ["many", "large"])
async def test_many_or_large_ones_are_not_kept_waiting(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(observers, "SOON", 1000.0)
    monkeypatch.setattr(observers, "MANY", 3)
    observer = Observer()
    served = gateway_with(observer)
    for _ in range(3 if what == "many" else 1):
        await ask(served, body=b"x" * (observers.LARGE if what == "large" else 0))
    with anyio.fail_after(5):
        await observer.news.wait()
    assert sum(len(paths) for paths, _ in observer.told) == (3 if what == "many" else 1)


async def test_while_one_runs_the_others_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "BEAT", 0.005)
    observer, go = Observer(), anyio.Event()

    async def slow() -> AsyncIterator[list[Chunk]]:
        await go.wait()
        yield [{"text": "a", "end": True}]

    served = gateway_with(observer, script=slow)
    async with anyio.create_task_group() as group:
        group.start_soon(ask, served)
        with anyio.fail_after(5):
            while len(observer.told) < 2:
                await observer.news.wait()
        go.set()
    assert observer.told[:2] == [([], 1), ([], 1)]
    served.tell()
    assert observer.told[-1] == (["/say"], 0)


async def test_a_broken_one_keeps_the_news_from_none() -> None:
    inner, outer = Observer(), type("Outer", (Observer,), {})()
    served = gateway_with(inner, Broken(), outer)
    with capture_logs() as logs:
        await ask(served)
        served.tell()
    assert inner.told == outer.told == [(["/say"], 0)]
    (fault,) = [line for line in logs if line["event"] == "fault"]
    assert (fault["pipeline"], fault["notes"]) == ("p", ["in observe of plugin 'Broken', pipeline 'p'"])


async def test_whoever_is_asked_for_a_page_knows_all() -> None:
    class Shows(Observer):
        @hookimpl
        def page(self, http: HTTPRequest) -> Page | None:
            return Page(repr(self.told).encode()) if http.path == "/page" else None

    served = gateway_with(Shows())
    await ask(served)
    sink = Collected()
    await served.handle(HTTPRequest("GET", "/page"), sink)
    assert sink.body == b"[(['/say'], 0)]"


async def test_at_the_end_all_is_told() -> None:
    observer = Observer()
    served = gateway_with(observer)
    async with Generations(served).running():
        await ask(served)
    assert observer.told == [(["/say"], 0)]
    async with served.running():
        await ask(served, "/stream")
    assert observer.told[1:] == [(["/stream"], 0)]


async def test_one_that_is_replaced_tells_what_it_has() -> None:
    observer = Observer()
    old, new = gateway_with(observer), gateway_with()
    generations = Generations(old)
    async with generations.running():
        with generations.current as served:
            await ask(served)
            await generations.replace(new)
            assert observer.told == []
        assert observer.told == [(["/say"], 0)]


async def test_where_nobody_observes_nothing_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[float] = []
    monkeypatch.setattr(observers.Observers, "_plan", lambda _, seconds: planned.append(seconds))
    served = gateway_with()
    await ask(served)
    assert planned.pop() == observers.SOON
    (pipeline,) = served.loaded.pipelines
    pipeline.manager.unregister(name="AccessLog")
    planned.clear()
    await ask(Gateway(served.loaded))
    assert planned == []
