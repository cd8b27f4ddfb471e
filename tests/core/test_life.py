from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from core import life as life_module
from core.life import Life
from core.raised import PluginError
from tests.core.fakes import manager
from tests.core.lifetimes import Crashes, Lives, Stuck

pytestmark = pytest.mark.anyio


def life(plugin: object) -> Life:
    return Life(manager(plugin).hook.lifespan.get_hookimpls())


async def test_it_begins_and_ends_in_a_task_of_its_own() -> None:
    log: list[str] = []
    one, other = life(Lives("one", log)), life(Lives("other", log))
    await one.start()
    await other.start()
    await one.end()
    await other.end()
    await other.end()
    assert log == ["+one", "+other", "-one", "-other"]


async def test_what_was_never_started_ends_at_once() -> None:
    log: list[str] = []
    await life(Lives("one", log)).end()
    assert log == []


@pytest.mark.parametrize(
    ("fault", "told"), [(OSError("no port"), "no port"), (SystemExit("no"), "a plugin raised SystemExit")]
)
async def test_a_start_that_fails_names_the_plugin(fault: BaseException, told: str) -> None:
    failing = life(Lives("one", [], fault))
    with pytest.raises((OSError, PluginError), match=told) as caught:
        await failing.start()
    notes = [*getattr(caught.value, "__notes__", ()), *getattr(caught.value.__cause__, "__notes__", ())]
    assert notes == ["in lifespan of plugin 'Lives'"]
    await failing.end()


async def test_a_start_that_hangs_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_module, "BEGIN", 0.01)
    log: list[str] = []
    with pytest.raises(TimeoutError, match="did not begin within") as caught:
        await life(Stuck(log)).start()
    assert caught.value.__notes__ == ["in lifespan of plugin 'Stuck'"]
    assert log == ["hangs", "cancelled"]


async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    log: list[str] = []
    async with anyio.create_task_group() as group:
        group.start_soon(life(Stuck(log)).start)
        while not log:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert log == ["hangs", "cancelled"]


async def test_an_end_that_hangs_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life_module, "END", 0.01)
    log: list[str] = []
    stuck = life(Stuck(log, at_end=True))
    await stuck.start()
    with capture_logs() as logs:
        await stuck.end()
    assert log == ["cancelled"]
    assert [(line["event"], line["of"]) for line in logs] == [("a plugin's own part did not end", "plugin 'Stuck'")]


async def test_an_end_that_fails_is_told_in_the_log() -> None:
    failing = life(Lives("one", [], last_fault=ValueError("no end")))
    await failing.start()
    with capture_logs() as logs:
        await failing.end()
    (line,) = logs
    assert (line["event"], line["why"]) == ("a plugin's own part failed", "ValueError: no end")
    assert line["notes"] == ["in lifespan of plugin 'Lives'"]


async def test_a_part_that_fails_while_it_runs_is_told_and_harms_nobody() -> None:
    crashes = Crashes(anyio.Event(), anyio.Event())
    crashing = life(crashes)
    await crashing.start()
    with capture_logs() as logs, anyio.fail_after(5):
        crashes.now.set()
        await crashes.ended.wait()
        await crashing.end()
    assert [line["event"] for line in logs] == ["a plugin's own part failed"]
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0
