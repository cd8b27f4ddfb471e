"""HAProxy as the distribution packs it, run with docs/examples/haproxy.cfg; only ports are others."""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs
import pytest

from tests.server.processes import wait_until

EXAMPLE: Final = Path(__file__).parents[2] / "docs" / "examples" / "haproxy.cfg"
CLIENTS, ONE, TWO, NUMBERS, TLS = 8080, 8081, 8082, 8404, 8443


def program() -> str:
    """Where haproxy is. Where it is not, the test is skipped, or fails where CI has installed it."""
    found = shutil.which("haproxy", path=os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin")))
    if found is None:
        said = "haproxy is not installed; on Debian or Ubuntu: apt-get install haproxy"
        if os.environ.get("HAPROXY") == "installed":
            pytest.fail(said)
        pytest.skip(said)
    return found


def free_ports(*names: int) -> dict[int, int]:
    """For each port of the example one that is free."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in names]
    ports = {name: probe.getsockname()[1] for name, probe in zip(names, probes, strict=True)}
    for probe in probes:
        probe.close()
    return ports


def with_ports(text: str, ports: Mapping[int, int]) -> str:
    """The configuration with other ports."""
    return re.sub(r"(?<=:)(\d{4})\b", lambda found: str(ports.get(int(found[1]), found[1])), text)


@attrs.frozen
class HAProxy:
    """A running one; `ports` are those of the example, each with its own."""

    ports: Mapping[int, int]
    log: Path

    @property
    def port(self) -> int:
        """Where clients come."""
        return self.ports[CLIENTS]

    def states(self) -> dict[str, str]:
        """What it thinks of each replica: UP, DOWN, or on the way."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[NUMBERS]}/;csv", timeout=10) as page:
            rows = csv.DictReader(page.read().decode().removeprefix("# ").splitlines())
            return {row["svname"]: row["status"] for row in rows if row["svname"] in {"one", "two"}}

    def wait_for(self, name: str, state: str) -> None:
        """Wait until it has that state."""
        wait_until(lambda: self.states()[name] == state)


@contextmanager
def running(folder: Path, ports: Mapping[int, int], text: str = "") -> Iterator[HAProxy]:
    """HAProxy with the example, or with a text made of it, once it listens."""
    file, log = folder / "haproxy.cfg", folder / "haproxy.log"
    file.write_text(with_ports(text or EXAMPLE.read_text(), ports))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [program(), "-db", "-f", str(file)], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    made = HAProxy(ports, log)
    try:
        wait_until(lambda: process.poll() is not None or _listens(made.ports[NUMBERS]))
        assert process.poll() is None, log.read_text()
        yield made
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
