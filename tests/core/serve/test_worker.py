from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import uvloop
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.utils import LifespanFailureError
from structlog.testing import capture_logs

from core.last_good import WHERE, LastGood
from core.serve import worker
from core.serve.ending import END
from core.serve.settings import ServerOptions, protocol_config
from core.serve.worker import loop_factory, running, serve, work
from tests.core.serve.hello import Hello
from tests.core.serve.served import WITHIN, Client, request, true

HELLO = ServerOptions(application="tests.core.serve.hello:app")


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the process would have been ended for certain."""
    times: list[float] = []
    monkeypatch.setattr(worker, "_end_for_certain", times.append)
    return times


@pytest.fixture
def _signals() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.anyio
@pytest.mark.usefixtures("_signals")
async def test_it_serves_reloads_and_drains(ends: list[float]) -> None:
    app = Hello()
    listener = socket.create_server(("127.0.0.1", 0))
    told: list[tuple[Any, ...]] = []
    serving = asyncio.create_task(serve(app, HELLO, [listener], lambda *words: told.append(words)))
    await true(lambda: told == [("ready", 0.5, 0.0, "hello")])
    sock = socket.create_connection(listener.getsockname())
    sock.setblocking(False)
    client = Client(sock)
    await client.send(request("/drain"))
    await client.until(b"first ")
    os.kill(os.getpid(), signal.SIGHUP)
    await true(lambda: app.reloads == 1)
    os.kill(os.getpid(), signal.SIGTERM)
    assert (await client.rest()).endswith(b"last\r\n0\r\n\r\n")
    async with asyncio.timeout(WITHIN):
        await serving
    assert told == [("ready", 0.5, 0.0, "hello"), ("drains", 0.5, 0.0)]
    assert ends == [0.5 + END]
    assert listener.fileno() == -1


@pytest.mark.anyio
@pytest.mark.usefixtures("_signals")
async def test_it_takes_connections_in_the_grace_until_that_is_over_or_it_shall_hurry(ends: list[float]) -> None:
    app = Hello()
    app.drain_grace = 60.0
    listener = socket.create_server(("127.0.0.1", 0))
    told: list[tuple[Any, ...]] = []
    serving = asyncio.create_task(serve(app, HELLO, [listener], lambda *words: told.append(words)))
    await true(lambda: told == [("ready", 0.5, 60.0, "hello")])
    os.kill(os.getpid(), signal.SIGTERM)
    await true(lambda: app.leaving)
    sock = socket.create_connection(listener.getsockname())
    sock.setblocking(False)
    client = Client(sock)
    await client.send(request("/drain"))
    await client.until(b"first ")
    assert not app.draining.is_set()
    os.kill(os.getpid(), signal.SIGUSR1)
    assert (await client.rest()).endswith(b"last\r\n0\r\n\r\n")
    async with asyncio.timeout(WITHIN):
        await serving
    assert told[1:] == [("drains", 0.5, 60.0)]
    assert ends == [60.5 + END]


@pytest.mark.anyio
async def test_an_application_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLO", "no start")
    with pytest.raises(LifespanFailureError, match="no luck"):
        async with running(ASGIWrapper(Hello()), protocol_config(HELLO)):
            pytest.fail("it started")


def told_by_work(options: ServerOptions) -> tuple[str, str]:
    """What a worker that fails tells its master."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with ours, theirs:
        with pytest.raises(SystemExit) as caught:
            work(options, [], theirs)
        assert caught.value.code == 1
        assert ours.poll(0)
        word, why = ours.recv()
        return word, why


@pytest.mark.usefixtures("_signals")
def test_a_worker_says_why_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with capture_logs() as logs:
        word, why = told_by_work(ServerOptions(application="tests.core.serve.hello:nothing"))
    assert (word, why.partition(":")[0]) == ("failed", "AttributeError")
    assert [log["event"] for log in logs] == ["the worker failed"]
    monkeypatch.setenv("HELLO", "no start")
    assert told_by_work(HELLO) == ("failed", "Lifespan failure in startup. 'no luck'")
    monkeypatch.setenv("HELLO", "no import")
    monkeypatch.delitem(sys.modules, "tests.core.serve.hello")
    assert told_by_work(HELLO) == ("failed", "no such luck")


@pytest.mark.usefixtures("_signals")
def test_the_application_finds_what_was_served_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WHERE, "")
    last = LastGood.make()
    found: list[LastGood | None] = []

    async def served(application: Any, options: Any, sockets: Any, tell: Any) -> None:
        found.append(LastGood.inherited(os.environ))

    monkeypatch.setattr(worker, "serve", served)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with ours, theirs:
        work(attrs.evolve(HELLO, last_good=last), [], theirs)
    assert [each.number for each in found if each is not None] == [last.number]
    os.close(last.number)


@pytest.mark.usefixtures("_signals")
def test_a_worker_leaves_signals_to_its_master_and_survives_its_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    ours.close()
    handlers: list[Any] = []

    async def served(application: Any, options: Any, sockets: Any, tell: Any) -> None:
        handlers.extend(map(signal.getsignal, (signal.SIGINT, signal.SIGHUP)))
        tell("ready", 1.0, 0.0)

    monkeypatch.setattr(worker, "serve", served)
    work(HELLO, [], theirs)
    assert handlers == [signal.SIG_IGN, signal.SIG_IGN]
    theirs.close()


def test_loops() -> None:
    assert loop_factory(ServerOptions(worker_class="asyncio")) is None
    assert loop_factory(ServerOptions(worker_class="uvloop")) is uvloop.new_event_loop


def test_the_end_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with ours, theirs:
        monkeypatch.setattr("os._exit", theirs.send)
        worker._end_for_certain(0.0)
        assert ours.poll(WITHIN)
        assert ours.recv() == 1
