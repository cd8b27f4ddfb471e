"""The soak from its start to its report."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import httpx

from tests.server.gateway import ROOT
from tests.server.serve import Serve, serve
from tests.soak.crowd import Crowd
from tests.soak.plan import Planner
from tests.soak.report import Report
from tests.soak.trouble import Trouble, tables, until
from tests.soak.upstream import Upstream
from tests.soak.watch import Log, Sample, files_of, growth, rss_of

WORKERS: Final = 2
DRAIN: Final = 6.0 + 10.0
"""Seconds in which the server must have ended: its limit for draining, and a margin."""
GROWTH: Final = 32_000_000
"""Bytes by which a worker may grow between the first quarter and the end, however long that is: the first reload and
the largest answers come after the first quarter of a minute, and the worker that is left when the other is killed has
twice the streams for a while. 1 to 24 MB were seen, most of it free memory that the C library keeps: of 95 MB at the end
a collection of garbage freed 7 and `malloc_trim` 27 more."""
SLACK: Final = 2
"""Files of one worker that are its own affair: the first request of all opens some, say."""


@attrs.frozen
class Options:
    """How long and how hard."""

    seconds: float = 60.0
    streams: int = 200
    seed: int = 1


def soak(folder: Path, options: Options) -> Report:
    """Run a soak; the server's files go into `folder`."""
    report = Report(options.streams, options.seconds)
    asyncio.run(_soak(folder, options, report))
    return report


async def _soak(folder: Path, options: Options, report: Report) -> None:
    upstream = Upstream()
    await upstream.listen()
    try:
        with _without_coverage():
            environ = {"PYTHONPATH": str(ROOT)}
            running = serve(folder, "--workers", str(WORKERS), tables=tables(upstream.url), environ=environ)
            served = await asyncio.to_thread(running.__enter__)
        try:
            log = Log(served.log)
            await _Soak(options, report, upstream, served, log).run()
            log.close()
        finally:
            await asyncio.to_thread(running.__exit__, None, None, None)
    finally:
        await upstream.close()


class _Soak:
    def __init__(self, options: Options, report: Report, upstream: Upstream, served: Serve, log: Log) -> None:
        self._options = options
        self._report = report
        self._upstream = upstream
        self._served = served
        self._log = log
        self._port = served.port
        planner = Planner(options.seed, pace=max(1.0, options.streams / 300))
        self._crowd = Crowd(planner, upstream, self._port, options.seed)
        # A few more clients than streams: at any moment some of them think.
        self._clients = round(options.streams * 1.1)

    async def run(self) -> None:
        report, crowd = self._report, self._crowd
        report.quiet = await self._census()
        report.began = asyncio.get_running_loop().time()
        watch = asyncio.create_task(self._watch())
        crowd.come(self._clients)
        trouble = Trouble(self._served, self._log, crowd, self._upstream.url)
        await asyncio.gather(trouble.run(self._options.seconds), asyncio.sleep(self._options.seconds))
        report.trouble = trouble.done
        self._load_is_over(trouble.killed_at)
        await crowd.go()
        watch.cancel()
        await self._settle()
        await self._drain()
        report.outcomes, report.hung = crowd.outcomes, crowd.hung
        report.added, report.lasted = crowd.added, crowd.lasted
        report.complaints += crowd.complaints
        self._read_log()

    def _complain(self, holds: object, sentence: str) -> None:
        if not holds:
            self._report.complaints.append(sentence)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        seen = 0.0
        while True:
            before = loop.time()
            await asyncio.sleep(0.05)
            self._report.lag = max(self._report.lag, loop.time() - before - 0.05)
            if loop.time() - seen >= 1:
                seen = loop.time()
                workers = self._served.workers()
                rss, files = ({pid: look(pid) for pid in workers} for look in (rss_of, files_of))
                sample = Sample(seen, rss, files, self._crowd.flying, len(self._upstream.open))
                self._report.samples.append(sample)
                self._log.read()

    def _load_is_over(self, killed_at: float) -> None:
        """Look at what happened under load: the crowd's size, and memory."""
        report = self._report
        report.flying = statistics.mean(each.flying for each in report.samples[2:])
        report.grown = growth(report.samples, report.began, killed_at)
        self._complain(report.flying >= 0.85 * self._options.streams, f"only {report.flying:.0f} requests at once")
        self._complain(len(report.grown) == WORKERS, f"memory was measured of {len(report.grown)} workers")
        self._complain(all(each < GROWTH for each in report.grown.values()), f"memory grew: {report.grown}")

    async def _settle(self) -> None:
        """Without load nothing may be left but what the pools keep."""
        report, upstream = self._report, self._upstream
        limit = sum(each["files"] for each in report.quiet) + WORKERS * SLACK

        def settled() -> bool:
            return not upstream.busy and sum(map(files_of, self._served.workers())) <= limit + len(upstream.open)

        try:
            await until(settled, "files and connections go back to what they were")
        except AssertionError as error:
            self._complain(False, str(error))
        report.upstream = (upstream.most, len(upstream.open), len(upstream.busy))
        self._complain(
            not upstream.busy, f"{len(upstream.busy)} upstream connections have a request that nobody waits for"
        )
        report.after = await self._census()
        for kind in ("tasks", "threads"):
            before, after = (max(each[kind] for each in all_) for all_ in (report.quiet, report.after))
            # The thread pool that loads a changed file keeps a thread.
            self._complain(after <= before + (kind == "threads"), f"{after} {kind}, {before} before the load")

    async def _drain(self) -> None:
        """SIGTERM in the midst of a new load."""
        report, loop = self._report, asyncio.get_running_loop()
        self._crowd.come(self._clients)
        await until(lambda: len(self._upstream.busy) >= 0.5 * self._options.streams, "the crowd is back")
        began = loop.time()
        self._crowd.draining()
        self._served.process.send_signal(signal.SIGTERM)
        try:
            report.status = await asyncio.to_thread(self._served.process.wait, DRAIN)
        except Exception as error:  # noqa: BLE001  a server that does not end is what is looked for
            self._complain(False, f"the server does not end: {error}")
        report.drain = loop.time() - began
        self._complain(report.status == 0, f"exit status {report.status}")
        await self._crowd.go()
        try:
            await until(lambda: not self._upstream.open, "upstream connections end with the server", 10)
            await until(lambda: not self._served.left(), "no process is left", 10)
        except AssertionError as error:
            self._complain(False, str(error))

    def _read_log(self) -> None:
        self._log.read()
        for event in ("fault", "a connection failed", "the worker failed"):
            self._complain(not self._log.count(event), f"the log has {self._log.count(event)} lines {event!r}")
        strange = [
            line for line in self._log.others if "Traceback" in line or "Error" in line or "warn" in line.lower()
        ]
        self._complain(not strange, f"the log has {strange[:5]}")
        text = self._served.log.read_text()
        self._complain("sk-upstream-secret" not in text and "sk-client-secret" not in text, "the log tells a secret")

    async def _census(self) -> list[Mapping[str, Any]]:
        """Each worker's counts."""
        found: dict[int, Mapping[str, Any]] = {}
        workers = set(self._served.workers())
        async with asyncio.timeout(60):
            while found.keys() != workers:
                async with httpx.AsyncClient() as client:  # a connection of its own, for any of the workers
                    counts = (await client.get(f"http://127.0.0.1:{self._port}/soak/census", timeout=30)).json()
                found[counts["pid"]] = counts
        return list(found.values())


@contextmanager
def _without_coverage() -> Iterator[None]:
    """Processes begun here are not measured: that would be most of their memory and time."""
    names = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
    taken = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)
