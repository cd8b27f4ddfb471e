"""The numbers of all workers in one scrape, whoever answers it, also when one has died; and nothing left at the end."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import httpx
import pytest

from plugins.metrics.run import Run
from tests.plugins.metrics.samples import Samples, parsed, value
from tests.server import gateway
from tests.server.processes import wait_until
from tests.server.serve import Serve, serve

TABLES = """
[pipelines.watched]
paths = ["/w"]
plugins = ["anthropic", "models", "metrics"]
[models]
"m" = { backend = "d" }
[backends.d]
plugins = ["demo"]
"""
BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
REQUESTS = 12


def ask(url: str) -> None:
    """Each on a connection of its own, so that all workers get some."""
    for _ in range(REQUESTS):
        assert httpx.post(f"{url}/w/messages", json=BODY, timeout=20).status_code == 200


def scrape(url: str) -> Samples:
    answer = httpx.get(f"{url}/metrics", timeout=20)
    assert answer.status_code == 200
    return parsed(answer.content)


def requests(url: str) -> float:
    return value(scrape(url), "hookline_requests_total", pipeline="watched", status="200")


def all_are_counted(url: str, wanted: int) -> None:
    """Soon, and then in each worker's page."""
    wait_until(lambda: requests(url) == wanted)
    assert {requests(url) for _ in range(6)} == {wanted}


def runs(directory: Path) -> list[Path]:
    return list(directory.glob("hookline-metrics-*/*"))


def counting(run: Path) -> int:
    """The workers that have counted a request."""
    return sum(b"hookline_requests_total" in file.read_bytes() for file in run.glob("counter_*.db"))


def test_two_workers_of_hookline_serve(tmp_path: Path) -> None:
    with serve(tmp_path, "--workers", "2", tables=TABLES, environ={"TMPDIR": str(tmp_path)}) as served:
        (run,) = runs(tmp_path)
        total = 0
        while counting(run) < 2:
            ask(served.url)
            total += REQUESTS
            all_are_counted(served.url, total)
        kill_one(served)
        assert requests(served.url) == total
        wait_until(lambda: value(scrape(served.url), "hookline_workers") == 2)
        ask(served.url)
        all_are_counted(served.url, total + REQUESTS)
        reload(served, tmp_path)
        assert {requests(served.url) for _ in range(6)} == {total + REQUESTS}
        assert value(scrape(served.url), "hookline_requests_in_flight") == 0
        assert served.end() == 0
        assert runs(tmp_path) == []
        assert "Traceback" not in served.log.read_text()


def kill_one(served: Serve) -> None:
    first = served.workers()[0]
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: value(scrape(served.url), "hookline_workers") == 1)


def reload(served: Serve, directory: Path) -> None:
    """Have both workers make a new plugin."""
    tables = directory / "pipelines.toml"
    tables.write_text(f"{tables.read_text()}[metrics]\nmax_models = 7\n")
    wait_until(lambda: len(served.lines("reloaded")) == 2)


def test_two_workers_of_hypercorn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with gateway.running(tmp_path, TABLES, "--workers", "2") as served:
        wait_until(lambda: value(scrape(served.url), "hookline_workers") == 2)
        ask(served.url)
        all_are_counted(served.url, REQUESTS)
        served.end(signal.SIGTERM)
    # Hypercorn may cut a worker's last moment short. What that leaves goes with the next run.
    Run.join(tmp_path / f"hookline-metrics-{os.getuid()}", "next").leave()
    assert runs(tmp_path) == []


def test_an_address_of_its_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
    tables = f'{TABLES}[metrics]\nbind = "{bind}"\n'
    with serve(tmp_path, "--workers", "2", tables=tables, environ={"TMPDIR": str(tmp_path)}) as served:
        ask(served.url)
        all_are_counted(f"http://{bind}", REQUESTS)
        assert httpx.get(f"{served.url}/metrics", timeout=20).status_code == 404
        (tmp_path / "other").mkdir()
        with serve(tmp_path / "other", tables=tables, environ={"TMPDIR": str(tmp_path)}) as other:
            assert other.process.wait(20) == 1
            assert "in use" in other.log.read_text().splitlines()[-1]
        assert len(runs(tmp_path)) == 1
        assert served.end() == 0
