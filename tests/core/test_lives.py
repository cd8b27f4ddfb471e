from __future__ import annotations

from typing import Any

import anyio
import attrs
import httpx
import pytest
from structlog.testing import capture_logs

from core.chat import UpstreamClient
from core.config import BackendConfig, Config
from core.lives import Lives
from core.loader import Loaded
from tests.core.fakes import manager
from tests.core.lifetimes import Lives as Plugin
from tests.core.lifetimes import Other, Stuck

pytestmark = pytest.mark.anyio


@attrs.define(eq=False)
class Transport(httpx.AsyncBaseTransport):
    """Writes down that it was closed."""

    name: str
    log: list[str]
    fault: Exception | None = None

    async def aclose(self) -> None:
        if self.fault is not None:
            raise self.fault
        self.log.append(f"-{self.name}")


def client(name: str, log: list[str], fault: Exception | None = None) -> UpstreamClient:
    return UpstreamClient(BackendConfig(name, ("x",)), Transport(name, log, fault))


def loaded(*plugins: Any, clients: tuple[UpstreamClient, ...] = ()) -> Loaded:
    return Loaded(Config("t", (), {}), (), tuple(manager(plugin) for plugin in plugins), clients)


async def test_parts_end_in_reverse_and_clients_last() -> None:
    log: list[str] = []
    lives = Lives()
    await lives.start(loaded(Plugin("a", log), Other("b", log), clients=(client("c", log),)))
    await lives.end()
    assert log == ["+a", "+b", "-b", "-a", "-c"]


async def test_a_part_runs_as_long_as_anybody_needs_it() -> None:
    log: list[str] = []
    shared, only = Plugin("shared", log), Plugin("only", log)
    kept, gone = client("kept", log), client("gone", log)
    first, second = loaded(only, shared, clients=(gone, kept)), loaded(shared, clients=(kept,))
    lives = Lives()
    await lives.start(first)
    await lives.start(second)
    assert log == ["+only", "+shared"]
    lives.release(first)
    lives.release(first)
    with anyio.fail_after(5):
        while len(log) < 4:
            await anyio.lowlevel.checkpoint()
    assert log[2:] == ["-only", "-gone"]
    await lives.end()
    assert log[4:] == ["-shared", "-kept"]


async def test_of_a_failed_start_nothing_is_left() -> None:
    log: list[str] = []
    running, new = Plugin("running", log), Plugin("new", log)
    fails = Plugin("fails", log, fault=OSError("no port"))
    lives = Lives()
    await lives.start(loaded(running))
    with pytest.raises(OSError, match="no port"):
        await lives.start(loaded(running, new, fails, clients=(client("c", log),)))
    await lives.end()
    assert log[:2] == ["+running", "+new"]
    assert sorted(log[2:]) == ["-c", "-new", "-running"]
    assert log.index("-new") < log.index("-c")


async def test_the_end_is_not_cancelled_with_its_task() -> None:
    log: list[str] = []
    lives = Lives()
    await lives.start(loaded(Plugin("a", log)))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await lives.end()
    assert log == ["+a", "-a"]


async def test_what_cannot_be_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.life.END", 0.01)
    log: list[str] = []
    lives = Lives()
    clients = (client("one", log, OSError("stuck")), client("two", log))
    await lives.start(loaded(Stuck(log, at_end=True), clients=clients))
    with capture_logs() as logs:
        await lives.end()
    assert log == ["cancelled", "-two"]
    assert [line["event"] for line in logs] == ["a plugin's own part did not end", "connections were not closed"]
    assert (logs[1]["backend"], logs[1]["why"]) == ("one", "OSError: stuck")
