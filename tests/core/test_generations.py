from __future__ import annotations

import gc
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Chunk, HTTPRequest
from core.gateway import Gateway, going
from core.generations import Generations
from tests.core.fakes import Collected, gateway
from tests.core.lifetimes import Lives

pytestmark = pytest.mark.anyio


async def until(true: Callable[[], bool]) -> None:
    """Let the others go on until it is so."""
    with anyio.fail_after(5):
        while not true():
            await anyio.lowlevel.checkpoint()


async def request(generations: Generations, sink: Collected) -> None:
    with generations.current as served:
        await served.handle(HTTPRequest("POST", "/api/stream"), sink)


def streaming(name: str, log: list[str], gate: anyio.Event, fault: Exception | None = None) -> Gateway:
    """A gateway whose streams say its name, and wait for the gate before their end."""

    async def script() -> AsyncIterator[list[Chunk]]:
        yield [{"text": f"{name}:"}]
        await gate.wait()
        yield [{"text": "whole", "end": True}]

    served, _ = gateway(script, Lives(name, log, fault))
    return served


async def test_a_request_ends_with_the_gateway_it_began_with() -> None:
    log: list[str] = []
    gate = anyio.Event()
    generations = Generations(streaming("one", log, gate))
    old, new = Collected(), Collected()
    async with generations.running(), anyio.create_task_group() as group:
        group.start_soon(request, generations, old)
        await until(lambda: old.body == b"one:")
        await generations.replace(streaming("two", log, gate))
        group.start_soon(request, generations, new)
        await until(lambda: new.body == b"two:")
        assert log == ["+one", "+two"]
        assert len(generations.living) == 2
        gate.set()
        await until(lambda: "-one" in log)
        assert generations.living == [generations.current]
    assert (old.body, new.body) == (b"one:whole<end_turn>", b"two:whole<end_turn>")
    assert log == ["+one", "+two", "-one", "-two"]


async def test_one_without_requests_is_over_at_once() -> None:
    log: list[str] = []
    generations = Generations(streaming("one", log, anyio.Event()))
    async with generations.running():
        await generations.replace(streaming("two", log, anyio.Event()))
        await until(lambda: log == ["+one", "+two", "-one"])


async def test_a_new_one_that_fails_to_start_changes_nothing() -> None:
    log: list[str] = []
    first = streaming("one", log, anyio.Event())
    generations = Generations(first)
    bad = streaming("new", log, anyio.Event(), OSError("no port"))
    async with generations.running():
        with pytest.raises(OSError, match="no port"):
            await generations.replace(bad)
        assert generations.current.gateway is first
        assert generations.living == [generations.current]
    assert log == ["+one", "-one"]


async def test_interrupt_reaches_the_requests_of_all() -> None:
    log: list[str] = []
    generations = Generations(streaming("one", log, anyio.Event()))
    sinks = [Collected(), Collected()]
    with anyio.fail_after(5):
        async with generations.running(), anyio.create_task_group() as group:
            for sink in sinks:
                group.start_soon(request, generations, sink)
                await until(lambda sink=sink: bool(sink.body))  # type: ignore[misc]
                if sink is sinks[0]:
                    await generations.replace(streaming("two", log, anyio.Event()))
            generations.interrupt(going())
    said = b"!overloaded: the server is shutting down"
    assert [sink.body for sink in sinks] == [b"one:" + said, b"two:" + said]


@given(st.lists(st.sampled_from(["reload", "request", "end"]), max_size=25))
def test_whatever_the_order_each_is_over_exactly_when_its_last_request_is(steps: list[str]) -> None:
    anyio.run(_walk, steps)


async def _walk(steps: list[str]) -> None:
    log: list[str] = []
    names = [0]
    open_streams: list[tuple[int, Collected, anyio.Event]] = []
    scripts: dict[int, list[anyio.Event]] = {}

    def make(name: int) -> Gateway:
        async def script() -> AsyncIterator[list[Chunk]]:
            yield [{"text": f"{name}:"}]
            await mine[-1].wait()
            yield [{"text": "whole", "end": True}]

        mine = scripts[name] = []
        served, _ = gateway(script, Lives(str(name), log))
        return served

    generations = Generations(make(0))
    async with generations.running(), anyio.create_task_group() as group:
        for step in steps:
            if step == "reload":
                names.append(names[-1] + 1)
                await generations.replace(make(names[-1]))
            elif step == "request":
                gate, sink = anyio.Event(), Collected()
                scripts[names[-1]].append(gate)
                group.start_soon(request, generations, sink)
                await until(lambda sink=sink: bool(sink.body))  # type: ignore[misc]
                open_streams.append((names[-1], sink, gate))
            elif open_streams:
                name, sink, gate = open_streams.pop(0)
                gate.set()
                await until(lambda sink=sink: sink.ended)  # type: ignore[misc]
                assert sink.body == b"%d:whole<end_turn>" % name
            wanted = {names[-1], *(name for name, _, _ in open_streams)}
            await until(lambda wanted=wanted: _running(log) == wanted)  # type: ignore[misc]
        for _, _, gate in open_streams:
            gate.set()
    assert _running(log) == set()


def _running(log: list[str]) -> set[int]:
    return {int(line[1:]) for line in log if line[0] == "+"} - {int(line[1:]) for line in log if line[0] == "-"}


async def test_old_ones_are_collected() -> None:
    log: list[str] = []
    refs: list[weakref.ref[Any]] = []

    def make(name: str) -> Gateway:
        served = streaming(name, log, gate)
        refs.extend(map(weakref.ref, (served, *served.loaded.managers, *served.loaded.clients)))
        return served

    gate = anyio.Event()
    gate.set()
    generations = Generations(make("0"))
    async with generations.running():
        for number in range(1, 30):
            await request(generations, Collected())
            await generations.replace(make(str(number)))
        current = generations.current.gateway
        wanted = {id(each) for each in (current, *current.loaded.managers, *current.loaded.clients)}

        def left() -> set[int]:
            gc.collect()
            return {id(ref()) for ref in refs if ref() is not None}

        await until(lambda: left() == wanted)
        assert len(log) == 30 + 29
