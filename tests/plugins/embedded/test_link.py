import io
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from core import UpstreamError
from plugins.embedded import link as module
from plugins.embedded.engine import STAY, Options
from plugins.embedded.link import Link, master, master_alive
from plugins.embedded.runtime import Joined

pytestmark = pytest.mark.anyio

OPTIONS = Options("/m.gguf", 1024, 1, 1, "none")
READY = b'{"port": 7}\n'


class Engines:
    """Stands in for `join`: each call takes the next step of a script, the bytes that an engine sends first.

    `None` is an engine that ends without a word. `ends` are the engines' ends of the connections.
    """

    def __init__(self, *script: bytes | None, owned: bool = True) -> None:
        self.script = list(script)
        self.owned = owned
        self.ends: list[socket.socket] = []
        self.processes: list[subprocess.Popen[bytes]] = []

    def __call__(self, options: Options, master: int) -> Joined:
        assert (options, master) == (OPTIONS, os.getpid())
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.ends.append(theirs)
        first = self.script.pop(0)
        if first is None:
            theirs.close()
        else:
            theirs.sendall(first)
        if not self.owned:
            return Joined(ours)
        self.processes.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        return Joined(ours, self.processes[-1], io.BytesIO(b"\nsome words\nlast words\n"))

    def end(self, number: int) -> None:
        """The engine of that number ends."""
        self.ends[number].close()
        if self.owned:
            self.processes[number].communicate()


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engines]:
    made = Engines()
    monkeypatch.setattr(module, "join", made)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "LEAVE", 0.2)
    monkeypatch.setattr(module, "REAP", 0.0)
    yield made
    for end in made.ends:
        end.close()
    for process in made.processes:
        assert process.stdin is not None
        process.stdin.close()
        assert process.returncode is not None


async def test_it_waits_for_the_engine_s_address(engines: Engines) -> None:
    engines.script = [b'{"po']
    link = Link()
    async with link.run(OPTIONS):
        with pytest.raises(UpstreamError, match="still starting") as caught:
            await link.url(0.01)
        assert (caught.value.kind, caught.value.retry_after) == ("overloaded", 5)
        engines.ends[0].sendall(b'rt": 7}\n')
        assert await link.url(10) == "http://127.0.0.1:7/v1"
        engines.end(0)
        engines.script = [READY]
    with pytest.raises(UpstreamError, match="ending"):
        await link.url(10)


async def test_an_engine_that_does_not_end_is_killed(engines: Engines) -> None:
    engines.script = [READY]
    link = Link()
    async with link.run(OPTIONS):
        await link.url(10)
    assert engines.processes[0].returncode == -9


async def stay(end: socket.socket) -> None:
    """What an engine does that others need, when the gateway closes its side of the connection."""
    await anyio.wait_readable(end)
    assert end.recv(1) == b""
    end.sendall(STAY)
    end.close()


async def test_an_engine_that_others_need_is_left_alone(engines: Engines) -> None:
    engines.script = [READY]
    link = Link()
    async with anyio.create_task_group() as tasks, link.run(OPTIONS):
        await link.url(10)
        tasks.start_soon(stay, engines.ends[0])
    assert engines.processes[0].poll() is None
    engines.processes[0].communicate()


async def test_an_engine_that_died_is_replaced(engines: Engines) -> None:
    engines.script = [READY, b'{"port": 8}\n']
    link = Link()
    with capture_logs() as logs:
        async with link.run(OPTIONS):
            assert await link.url(10) == "http://127.0.0.1:7/v1"
            engines.end(0)
            assert await url_after(link, "http://127.0.0.1:7/v1") == "http://127.0.0.1:8/v1"
            engines.end(1)
    assert [log["log_level"] for log in logs] == ["warning"]


async def url_after(link: Link, old: str) -> str:
    """The address that follows the old one."""
    with anyio.fail_after(10):
        while (url := await link.url(10)) == old:
            await anyio.lowlevel.checkpoint()
    return url


async def test_a_failure_is_told_and_logged(engines: Engines) -> None:
    engines.script = [b'{"error": "no such model"}\n']
    await fails(engines, "no such model")


async def test_an_engine_that_ends_at_once_leaves_its_last_words(engines: Engines) -> None:
    engines.script = [None]
    await fails(engines, "some words last words")


async def fails(engines: Engines, reason: str) -> None:
    """The link fails for that reason, which the log tells and the client does not learn."""
    link = Link()
    with capture_logs() as logs:
        async with link.run(OPTIONS):
            with pytest.raises(UpstreamError, match="did not start") as caught:
                await link.url(10)
    assert (caught.value.kind, caught.value.should_retry) == ("api", False)
    assert reason not in caught.value.message
    assert [log["reason"] for log in logs] == [reason]
    assert engines.processes[0].returncode is not None


async def test_an_engine_that_ends_while_this_worker_joins_is_tried_again(engines: Engines) -> None:
    engines.owned = False
    engines.script = [None, None, READY]
    link = Link()
    async with link.run(OPTIONS):
        assert await link.url(10) == "http://127.0.0.1:7/v1"


async def test_but_not_for_ever(engines: Engines) -> None:
    engines.owned = False
    engines.script = [None] * (module.MISSED + 1)
    link = Link()
    async with link.run(OPTIONS):
        with pytest.raises(UpstreamError, match="did not start"):
            await link.url(10)


async def test_a_system_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Joined:
        raise OSError("path too long")

    monkeypatch.setattr(module, "join", refuse)
    link = Link()
    with capture_logs() as logs:
        async with link.run(OPTIONS):
            with pytest.raises(UpstreamError, match="cannot be started"):
                await link.url(10)
    assert logs[0]["reason"] == "path too long"


async def test_without_a_lifespan_the_calls_say_so() -> None:
    with pytest.raises(UpstreamError, match="lifespan"):
        await Link().url(0)


async def test_no_engine_is_started_for_a_gateway_whose_master_is_gone(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "master_alive", lambda: False)
    engines.script = [READY]
    link = Link()
    async with link.run(OPTIONS):
        await link.url(10)
        engines.end(0)
        with pytest.raises(UpstreamError, match="ending"):
            await url_after(link, "http://127.0.0.1:7/v1")
    assert len(engines.ends) == 1


def test_the_master_of_a_worker_is_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (master(), master_alive()) == (os.getpid(), True)

    class Parent:
        pid = 123

        def is_alive(self) -> bool:
            return False

    monkeypatch.setattr(multiprocessing, "parent_process", Parent)
    assert (master(), master_alive()) == (123, False)
