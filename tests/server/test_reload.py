"""A changed pipelines.toml under a running gateway with two workers, and a stream that must stay whole."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import attrs
import httpx
import pytest

from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply, fold
from tests.server.gateway import FRONT, running
from tests.server.processes import TINY, engines, wait_until
from tests.server.serve import Serve, serve

TEXT = "Every word of this is told, whatever happens to the file."
ANSWER = UpstreamAnswer(text=TEXT)
BODY = {"model": "m", "max_tokens": 50, "stream": True, "messages": [{"role": "user", "content": "hi"}]}


@attrs.frozen
class Subject:
    """A gateway of two workers, its file and its log."""

    url: str
    file: Path
    log: Path
    send: Callable[[signal.Signals], None]

    def lines(self, event: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in found if line["event"] == event]

    def told(self, event: str, times: int) -> None:
        """Wait until each of the two workers has written that line so many times."""

        def enough() -> bool:
            workers = [line["worker"] for line in self.lines(event)]
            return len(set(workers)) == 2 and all(workers.count(worker) >= times for worker in workers)

        wait_until(enough)

    def model(self) -> str:
        return str(httpx.get(f"{self.url}/v1/models", timeout=20).json()["data"][0]["id"])


@contextmanager
def subject(folder: Path, server: str, tables: str) -> Iterator[Subject]:
    if server == "serve":
        with serve(folder, "--workers", "2", tables=tables) as process:
            yield Subject(process.url, folder / "pipelines.toml", process.log, process.process.send_signal)
            assert process.end() == 0
    else:
        with running(folder, tables, "--workers", "2") as gateway:
            # A worker that comes later finds the changed file, and has nothing to reload.
            wait_until(lambda: gateway.log.read_text().count("Running on") == 2)
            yield Subject(gateway.url, folder / "pipelines.toml", gateway.log, gateway.process.send_signal)


def tables_of(upstream: MockUpstream, model: str = "m", more: str = "") -> str:
    return (
        f'[models]\n"{model}" = {{ backend = "up" }}\n[backends.up]\nplugins = ["vllm"]\nurl = "{upstream.url}"\n{more}'
    )


def rewrite(file: Path, *changes: tuple[str, str]) -> None:
    """Change the file as editors do: a new one takes its place."""
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    new_file = file.with_suffix(".new")
    new_file.write_text(text)
    new_file.rename(file)


@pytest.mark.parametrize("server", ["serve", "hypercorn"])
def test_every_worker_takes_it_up_and_no_stream_is_dropped(tmp_path: Path, server: str) -> None:
    hold = anyio.Event()
    half = len(ANSWER.sse()) // 2
    upstream = MockUpstream(UpstreamReply.answer(ANSWER, stream=True, hold=hold, hold_at=half))
    with (
        upstream.in_thread(),
        subject(tmp_path, server, tables_of(upstream)) as gateway,
        httpx.stream("POST", f"{gateway.url}/v1/messages", json=BODY, timeout=30) as stream,
    ):
        pieces = stream.iter_raw()
        seen = next(pieces)
        rewrite(gateway.file, ('"m"', '"n"'), ("[backends.up]", "[backends.up]\nread_timeout = 77"))
        gateway.told("reloaded", 1)
        assert {gateway.model() for _ in range(10)} == {"n"}
        rewrite(gateway.file, ('"n"', '"o"'), ("read_timeout = 77\n", ""))
        gateway.told("reloaded", 2)
        assert {gateway.model() for _ in range(10)} == {"o"}
        upstream.portal.call(hold.set)
        message = fold(seen + b"".join(pieces)).message
        assert message["content"][0]["text"] == TEXT
        assert message["model"] == "m"
        assert gateway.lines("reloaded")[0]["backends"] == {"changed": ["up"]}
        assert gateway.lines("reload failed") == []
    assert "Traceback" not in gateway.log.read_text()


def test_what_still_runs_counts_after_a_changed_table(tmp_path: Path) -> None:
    hold = anyio.Event()
    half = len(ANSWER.sse()) // 2
    upstream = MockUpstream(UpstreamReply.answer(ANSWER, stream=True, hold=hold, hold_at=half), ANSWER)
    limits = "max_concurrent = 1\nmax_queue = 0\nread_timeout = 1\n"
    with (
        upstream.in_thread(),
        serve(tmp_path, tables=tables_of(upstream, more=limits)) as process,
        httpx.stream("POST", f"{process.url}/v1/messages", json=BODY, timeout=30) as stream,
    ):
        pieces = stream.iter_raw()
        seen = next(pieces)
        for number in (1, 2, 3):
            rewrite(tmp_path / "pipelines.toml", (f"read_timeout = {number}\n", f"read_timeout = {number + 1}\n"))
            process.process.send_signal(signal.SIGHUP)
            wait_until(partial(reloaded, process, number))
            assert httpx.post(f"{process.url}/v1/messages", json=BODY, timeout=20).status_code == 529
        upstream.portal.call(hold.set)
        assert fold(seen + b"".join(pieces)).message["content"][0]["text"] == TEXT
        assert httpx.post(f"{process.url}/v1/messages", json=BODY, timeout=20).status_code == 200
        assert len(upstream.exchanges) == 2


def reloaded(process: Serve, times: int) -> bool:
    return len(process.lines("reloaded")) >= times


def test_a_wrong_one_keeps_the_old_and_says_why(tmp_path: Path) -> None:
    with MockUpstream().in_thread() as upstream, subject(tmp_path, "serve", tables_of(upstream)) as gateway:
        rewrite(gateway.file, ('"m"', '"n"'), ("url =", "ulr ="))
        gateway.told("reload failed", 1)
        why = {line["why"] for line in gateway.lines("reload failed")}
        assert why == {f"{gateway.file}: [backends.up] key 'ulr': unknown key; did you mean 'url'?"}
        assert {gateway.model() for _ in range(10)} == {"m"}
        gateway.file.unlink()
        gateway.told("reload failed", 2)
        assert {gateway.model() for _ in range(10)} == {"m"}
        (tmp_path / "pipelines.toml").write_text(FRONT + tables_of(upstream, "n"))
        gateway.told("reloaded", 1)
        assert {gateway.model() for _ in range(10)} == {"n"}


def test_a_worker_that_dies_while_the_file_is_wrong_is_replaced_with_what_was_served_last(tmp_path: Path) -> None:
    with MockUpstream().in_thread() as upstream, serve(tmp_path, tables=tables_of(upstream, "l")) as process:
        file = tmp_path / "pipelines.toml"

        def served_last(times: int) -> bool:
            return len(process.lines("the last good configuration is served")) == times

        gateway = Subject(process.url, file, process.log, process.process.send_signal)
        rewrite(file, ('"l"', '"m"'))
        wait_until(lambda: len(process.lines("reloaded")) == 1)
        rewrite(file, ("url =", "ulr ="))
        wait_until(lambda: len(process.lines("reload failed")) == 1)
        for times in (1, 2):
            (worker,) = process.workers()
            os.kill(worker, signal.SIGKILL)
            wait_until(partial(served_last, times))
            assert gateway.model() == "m"
        line = process.lines("the last good configuration is served")[-1]
        assert line["why"] == f"{file}: [backends.up] key 'ulr': unknown key; did you mean 'url'?"
        assert [line["worker"]] == process.workers()
        assert (line["level"], line["file"]) == ("error", str(file))
        rewrite(file, ("ulr =", "url ="), ('"m"', '"n"'))
        wait_until(lambda: len(process.lines("reloaded")) == 2)
        assert gateway.model() == "n"
        assert all("why" not in line for line in process.lines("a worker ended"))
        assert process.end() == 0


def test_sighup_reloads_at_once_also_what_did_not_change(tmp_path: Path) -> None:
    with MockUpstream().in_thread() as upstream, subject(tmp_path, "serve", tables_of(upstream)) as gateway:
        for times in (1, 2):
            gateway.send(signal.SIGHUP)
            gateway.told("reloaded", times)
        kept = {"backends": {"kept": ["up"]}, "pipelines": {"kept": ["messages"]}}
        assert all({**line, **kept} == line for line in gateway.lines("reloaded"))
        assert gateway.lines("reload failed") == []


def test_reload_after_reload_leaves_nothing_open(tmp_path: Path) -> None:
    upstream = MockUpstream(ANSWER)
    with upstream.in_thread(), serve(tmp_path, tables=tables_of(upstream, more="read_timeout = 1\n")) as process:
        (worker,) = process.workers()
        file = tmp_path / "pipelines.toml"

        def reload(number: int) -> None:
            """A request on the client of now, which the reload takes out of service."""
            assert httpx.post(f"{process.url}/v1/messages", json=BODY, timeout=20).status_code == 200
            rewrite(file, (f"read_timeout = {number}\n", f"read_timeout = {number + 1}\n"))
            process.process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(process.lines("reloaded")) >= number)

        def held() -> tuple[int, int]:
            return len(list(Path(f"/proc/{worker}/fd").iterdir())), len(list(Path(f"/proc/{worker}/task").iterdir()))

        for number in range(1, 6):
            reload(number)
        files, threads = held()
        for number in range(6, 31):
            reload(number)
        assert upstream.connections >= 30
        wait_until(lambda: held()[0] <= files + 1)
        assert held()[1] <= threads + 1
        assert process.end() == 0


@pytest.mark.engine
def test_an_embedded_engine_that_stays_in_the_file_stays_the_same_process(tmp_path: Path) -> None:
    tables = f'[models]\n"m" = {{ backend = "e" }}\n[backends.e]\nplugins = ["embedded"]\n[backends.e.embedded]\nmodel = "{TINY}"\n'
    with serve(tmp_path, "--workers", "2", tables=tables) as process:
        gateway = Subject(process.url, tmp_path / "pipelines.toml", process.log, process.process.send_signal)
        wait_until(lambda: len(engines(process.process.pid)) == 1)
        first = engines(process.process.pid)
        rewrite(gateway.file, ('"m"', '"n"'))
        gateway.told("reloaded", 1)
        assert engines(process.process.pid) == first
        rewrite(gateway.file, ("[backends.e]", '[backends.d]\nplugins = ["demo"]\n[backends.e]\nread_timeout = 9'))
        gateway.told("reloaded", 2)
        assert engines(process.process.pid) == first  # the table changed, but not what the engine is made of
        gateway.file.write_text(FRONT + '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n')
        gateway.told("reloaded", 3)
        wait_until(lambda: engines(process.process.pid) == [])
        assert process.end() == 0
