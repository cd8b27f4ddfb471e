"""`hookline serve` as users run it, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from tests.server.gateway import FRONT
from tests.server.processes import wait_until

DEMO = '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'


@attrs.frozen
class Serve:
    """A running `hookline serve`; `log` is what it wrote."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        found = re.search(rb" on 127\.0\.0\.1:(\d+)", self.log.read_bytes())
        assert found, self.log.read_text()
        return int(found[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The lines of the log with this event."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the master a signal; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(20)

    def refuses(self) -> bool:
        """Whether nobody listens."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) != 0

    def workers(self) -> list[int]:
        """The workers; one that is dead but not reaped counts, too."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children if b"resource_tracker" not in _command(pid)]

    def left(self) -> list[int]:
        """The processes of its session, dead or alive."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and os.getsid(int(entry.name)) == self.process.pid:
                    found.append(int(entry.name))
        return found


@contextmanager
def serve(
    directory: Path, *arguments: str, tables: str = DEMO, environ: Mapping[str, str] | None = None
) -> Iterator[Serve]:
    """`hookline serve` on a free port, once it is ready or has ended; whatever is left of it in the end is killed."""
    (directory / "pipelines.toml").write_text(FRONT + tables)
    log = directory / "log"
    command = [str(Path(sys.executable).with_name("hookline")), "serve", "--bind", "127.0.0.1:0", *arguments]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        wait_until(lambda: b"\ntry: " in log.read_bytes() or process.poll() is not None, seconds=60)
        yield Serve(process, log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
