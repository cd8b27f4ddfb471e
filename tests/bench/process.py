"""A server process that is measured: pinned to a core, its CPU time and memory read from /proc, children included."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PATIENCE: Final = 120.0
"""Seconds that a server may take to start."""

_PROC: Final = Path("/proc")


class Process:
    """A command in a session of its own, so that its children can be found, on one core."""

    def __init__(self, command: Sequence[str], core: int, log: Path, env: Mapping[str, str] | None = None) -> None:
        self.begin = time.monotonic()
        with log.open("ab") as out, _on_core(core):
            self._popen = subprocess.Popen(
                command, stdout=out, stderr=out, env={**os.environ, **(env or {})}, start_new_session=True
            )
        self._log = log

    def wait_until_ready(self, port: int, body: bytes | None = None, path: str = "/v1/messages") -> float:
        """Seconds from the start to the first answer of 200 to `body`; without one, to the first connection."""
        while time.monotonic() - self.begin < PATIENCE:
            if self._popen.poll() is not None:
                break
            if _answers(port, body, path):
                return time.monotonic() - self.begin
            time.sleep(0.005)
        self.stop()
        raise RuntimeError(f"the server did not start; {self._log} ends: {self._log.read_text()[-800:]}")

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        return sum(_cpu(pid) for pid in self.pids())

    def pss(self) -> int:
        """Bytes of memory, what is shared with other processes in its proportion."""
        return sum(_field(pid, "smaps_rollup", "Pss") for pid in self.pids())

    def rss(self) -> int:
        """Bytes of resident memory."""
        return sum(_field(pid, "status", "VmRSS") for pid in self.pids())

    def pids(self) -> list[int]:
        """All processes of the session."""
        found = []
        for entry in _PROC.iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text()
                except OSError:
                    continue
                # pid (name) state ppid pgrp session …; the name may hold anything, brackets too
                if int(stat.rpartition(")")[2].split()[3]) == self._popen.pid:
                    found.append(int(entry.name))
        return found

    def stop(self) -> None:
        """End it and its children; by force after some seconds, for a server may wait for open streams."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.pids():
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            try:
                self._popen.wait(timeout=3)
            except subprocess.TimeoutExpired:
                continue
            if not self.pids():
                return


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def cores() -> tuple[int, int]:
    """The core for the load and the upstream, and the one for the server under test."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[min(1, len(allowed) - 1)]


@contextmanager
def _on_core(core: int) -> Iterator[None]:
    """Run on that core for a while; what is started then stays there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _answers(port: int, body: bytes | None, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        if body is None:
            connection.connect()
            return True
        connection.request("POST", path, body, {"content-type": "application/json", "x-api-key": "sk-bench"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _cpu(pid: int) -> float:
    """User and system time of all threads: in nanoseconds where the kernel counts so, else in ticks of 10 ms."""
    try:
        tasks = [each / "schedstat" for each in (_PROC / str(pid) / "task").iterdir()]
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
    except FileNotFoundError:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _field(pid: int, file: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", (_PROC / str(pid) / file).read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
