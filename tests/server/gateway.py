"""A gateway as users run it: Hypercorn in a process of its own, with a pipelines.toml."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from tests.server.processes import wait_until

ROOT = Path(__file__).parent.parent.parent
FRONT = '[pipelines.messages]\npaths = ["/v1"]\nplugins = ["anthropic", "models", "access_log"]\n'


@attrs.frozen
class GatewayProcess:
    """A running gateway; `log` is what it wrote."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def end(self, number: signal.Signals) -> None:
        """Send the master a signal and wait for its end."""
        self.process.send_signal(number)
        self.process.wait(20)


@contextmanager
def running(directory: Path, tables: str, *arguments: str) -> Iterator[GatewayProcess]:
    """A gateway with these tables below the front, listening; whatever is left of it in the end is killed."""
    config, log = directory / "pipelines.toml", directory / "log"
    config.write_text(FRONT + tables)
    port = _free_port()
    command = [sys.executable, "-m", "hypercorn", "core.app:app", "--bind", f"127.0.0.1:{port}", *arguments]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PIPELINES_TOML": str(config)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    gateway = GatewayProcess(f"http://127.0.0.1:{port}", process, log)
    try:
        wait_until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield gateway
    finally:
        if process.poll() is None:
            gateway.end(signal.SIGTERM)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
