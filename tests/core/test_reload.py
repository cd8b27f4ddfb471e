from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from structlog.testing import capture_logs

from core import hookimpl
from core import reload as reload_module
from core.config.file import read_config
from core.config_file import ConfigFile
from core.errors import ConfigError
from core.gateway import Gateway
from core.generations import Generations
from core.last_good import LastGood
from core.loader import load
from core.reload import Reloader
from tests.core import samples
from tests.core.samples import BACKEND, HERE, PIPELINE, write
from tests.core.test_generations import until

pytestmark = pytest.mark.anyio

SERVED = PIPELINE + BACKEND
TWO = f'[backends.two]\nplugins = ["{HERE}:Engine"]\n'


class NoPort(samples.Engine):
    """Cannot start."""

    @hookimpl
    def lifespan(self) -> None:
        raise OSError("no port")


class Slow(samples.Engine):
    """Waits in its check until somebody in the event loop lets it go on."""

    begun: ClassVar[threading.Event] = threading.Event()
    go_on: ClassVar[threading.Event] = threading.Event()

    @hookimpl
    def check(self) -> None:
        self.begun.set()
        assert self.go_on.wait(5)


class Setting:
    """A file that is served, and what reloads it."""

    def __init__(self, folder: Path, text: str = SERVED, environ: Mapping[str, str] | None = None) -> None:
        self.path = write(folder, text)
        self.last_good = LastGood.make()
        file = ConfigFile(self.path, environ or {}, self.last_good)
        self.generations = Generations(Gateway(file.load()))
        self.reloader = Reloader(file, self.generations)

    @property
    def gateway(self) -> Gateway:
        return self.generations.current.gateway

    async def looks(self, text: str) -> list[dict[str, Any]]:
        """The log of two looks after the file was written, and one more, which has nothing to do."""
        self.path.write_text(text)
        with capture_logs() as logs:
            for _ in range(3):
                await self.reloader.look()
        return [dict(line) for line in logs]


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    made = Setting(tmp_path)
    async with made.generations.running():
        yield made
    os.close(made.last_good.number)


async def test_a_changed_file_is_taken_up(setting: Setting) -> None:
    before = setting.gateway
    (line,) = await setting.looks(SERVED + TWO + "[server]\nmax_body = 5\n")
    assert (line.pop("log_level"), line.pop("event")) == ("info", "reloaded")
    assert line.pop("worker") > 0
    assert line == {
        "file": str(setting.path),
        "backends": {"added": ["two"], "kept": ["one"]},
        "pipelines": {"kept": ["main"]},
        "server": ["max_body"],
    }
    assert setting.gateway is not before
    assert setting.gateway.server.max_body == 5
    assert setting.gateway.loaded.clients[0] is before.loaded.clients[0]


@pytest.mark.parametrize("text", [SERVED + "ulr = 3", "half a [", PIPELINE, SERVED + TWO.replace("Engine", "Remote")])
async def test_a_wrong_one_keeps_the_old_and_says_why_as_check_does(setting: Setting, text: str) -> None:
    before = setting.gateway
    (line,) = await setting.looks(text)
    with pytest.raises(ConfigError) as caught:
        load(read_config(setting.path, {}), {})
    assert (line["log_level"], line["event"], line["why"]) == ("error", "reload failed", str(caught.value))
    assert "exc_info" not in line
    assert setting.gateway is before
    assert setting.generations.living == [setting.generations.current]
    (line,) = await setting.looks(SERVED)
    assert line["event"] == "reloaded"


async def test_what_fails_to_start_keeps_the_old_and_is_tried_again(setting: Setting) -> None:
    before = setting.gateway
    text = SERVED + TWO.replace(f"{HERE}:Engine", f"{__name__}:NoPort")
    (line,) = await setting.looks(text)
    assert (line["event"], line["why"]) == ("reload failed", "OSError: no port")
    assert line["notes"] == [f"in lifespan of plugin '{__name__}:NoPort'"]
    assert setting.gateway is before
    assert [line["event"] for line in await setting.looks(f"{text}\n")] == ["reload failed"]


async def test_a_changed_table_goes_on_with_the_places_once_it_serves(setting: Setting) -> None:
    table = f'{PIPELINE}[backends.one]\nplugins = ["{HERE}:Remote"]\nurl = "http://h/v1"\n'
    (line,) = await setting.looks(f"{table}max_concurrent = 3\n")
    assert line["event"] == "reloaded", line
    before = setting.gateway.loaded.made.backs["one"].state
    running = before.places.place("a")
    assert running.take()
    limited = f"{table}max_concurrent = 1\n"
    await setting.looks(limited + TWO.replace(f"{HERE}:Engine", f"{__name__}:NoPort"))
    assert before.places.limit == 3  # refused
    await setting.looks(limited)
    after = setting.gateway.loaded.made.backs["one"].state
    assert after is not before
    assert (after.places.limit, after.places.free) == (1, False)
    running.give_back()
    assert after.places.free


async def test_asked_for_it_reloads_what_did_not_change(setting: Setting) -> None:
    before = setting.gateway
    setting.reloader.ask()
    with capture_logs() as logs:
        await setting.reloader.look()
        await setting.reloader.look()
    assert [line["event"] for line in logs] == ["reloaded"]
    assert setting.gateway is not before
    assert setting.gateway.loaded.clients == before.loaded.clients


@pytest.mark.parametrize("asked", [True, False])
async def test_it_runs_until_it_is_closed(setting: Setting, asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload_module, "LOOK", 60.0 if asked else 0.001)
    before = setting.gateway
    setting.path.write_text(SERVED + TWO)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(setting.reloader.run)
            if asked:
                setting.reloader.ask()
            await until(lambda: setting.gateway is not before)
            setting.reloader.close()
            setting.reloader.ask()
    assert len(setting.gateway.loaded.clients) == 2


async def test_what_is_served_is_kept_and_nothing_else(setting: Setting) -> None:
    assert setting.last_good.text == b""
    setting.reloader.close()
    await setting.reloader.run()
    assert setting.last_good.text == SERVED.encode()
    refused = SERVED + TWO.replace(f"{HERE}:Engine", f"{__name__}:NoPort")
    for text in (SERVED + "ulr = 3", refused):
        await setting.looks(text)
        assert setting.last_good.text == SERVED.encode()


async def test_a_changed_one_that_is_served_is_kept(setting: Setting) -> None:
    await setting.looks(SERVED + TWO)
    assert setting.last_good.text == (SERVED + TWO).encode()


async def test_where_nothing_can_be_kept_the_log_says_so(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: LastGood, __: bytes) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(LastGood, "keep", full)
    (kept, reloaded) = await setting.looks(SERVED + TWO)
    assert (kept["event"], kept["log_level"]) == ("the configuration is not kept for other workers", "error")
    assert reloaded["event"] == "reloaded"


async def test_requests_go_on_while_it_loads_and_once_closed_nothing_changes(setting: Setting) -> None:
    before = setting.gateway
    setting.path.write_text(SERVED + TWO.replace(f"{HERE}:Engine", f"{__name__}:Slow"))
    async with anyio.create_task_group() as group:
        setting.reloader.ask()
        group.start_soon(setting.reloader.look)
        await until(Slow.begun.is_set)
        setting.reloader.close()
        Slow.go_on.set()
    assert setting.gateway is before


async def test_no_secret_is_told(tmp_path: Path) -> None:
    setting = Setting(tmp_path, SERVED + 'key = "hunter2"', {"KEY": "hunter3"})
    async with setting.generations.running():
        for text in (SERVED + 'key = "hunter4"', SERVED + 'key = { env = "KEY" }', SERVED + 'key = "hunter5\\n"'):
            (line,) = await setting.looks(text)
            assert "hunter" not in repr(line)
    os.close(setting.last_good.number)
    assert line["event"] == "reload failed"


async def test_many_reloads_leave_nothing(setting: Setting) -> None:
    threads = threading.active_count()
    tasks = len(anyio.get_running_tasks())
    for number in range(50):
        (line,) = await setting.looks(SERVED + TWO.replace("two", f"b{number % 3}"))
        assert line["event"] == "reloaded"
    await until(lambda: len(anyio.get_running_tasks()) == tasks)
    assert setting.generations.living == [setting.generations.current]
    assert threading.active_count() <= threads + 1
