"""The life of `hookline serve`: its workers, signals, and its end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import httpx

from core.testing import MockUpstream, UpstreamReply
from core.testing.answers import Framing
from tests.server.processes import wait_until
from tests.server.serve import serve

SAY = {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}
BODY = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
UPSTREAM = '[models]\n"m" = { backend = "up" }\n[backends.up]\nplugins = ["vllm"]\n'
UNLUCKY = """
from contextlib import asynccontextmanager
from core import hookimpl

class Unlucky:
    @hookimpl
    @asynccontextmanager
    async def lifespan(self):
        raise RuntimeError("no luck")
        yield
"""


def alive(process: int) -> bool:
    """Whether the process runs; one that is dead but not reaped does not."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


def test_it_ends_when_asked_and_its_streams_end_cleanly(tmp_path: Path) -> None:
    hold = anyio.Event()
    upstream = MockUpstream(lambda _: UpstreamReply.sse([SAY], framing=Framing(done=False), hold=hold))
    with upstream.in_thread():
        tables = f'[server]\ndrain_timeout = 0.3\n{UPSTREAM}url = "{upstream.url}"\n'
        with (
            serve(tmp_path, "--bind", "unix:s", "--workers", "2", tables=tables) as gateway,
            httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "s")), timeout=20) as idle,
            httpx.stream("POST", f"{gateway.url}/v1/messages", json={**BODY, "stream": True}, timeout=20) as stream,
        ):
            assert idle.get("http://localhost/v1/models").status_code == 200
            lines = stream.iter_lines()
            assert any("word" in line for line in lines)
            gateway.process.send_signal(signal.SIGTERM)
            wait_until(gateway.refuses)
            said = "\n".join(lines)
            assert "event: error" in said
            assert "message_stop" not in said
            assert gateway.process.wait(20) == 0
            assert not (tmp_path / "s").exists()
            wait_until(lambda: not gateway.left())  # multiprocessing's resource tracker is the last to go
            assert "Traceback" not in gateway.log.read_text()


def test_a_worker_that_dies_is_replaced_and_all_reload(tmp_path: Path) -> None:
    with serve(tmp_path, "--workers", "2") as gateway:
        first, second = gateway.workers()

        def model() -> str:
            return str(httpx.get(f"{gateway.url}/v1/models", timeout=20).json()["data"][0]["id"])

        assert model() == "m"
        os.kill(first, signal.SIGKILL)
        assert model() == "m"  # by the other one
        tables = tmp_path / "pipelines.toml"
        tables.write_text(tables.read_text().replace('"m" =', '"n" ='))
        gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: {model() for _ in range(5)} == {"n"})
        wait_until(lambda: len(gateway.workers()) == 2 and first not in gateway.workers())
        (line,) = gateway.lines("a worker ended")
        assert (line["pid"], line["status"], line["restart_in"]) == (first, "signal SIGKILL", 0.5)
        assert second in gateway.workers()
        assert gateway.end(signal.SIGINT) == 0


def test_no_worker_outlives_its_master(tmp_path: Path) -> None:
    with serve(tmp_path, "--workers", "2") as gateway:
        workers = gateway.workers()
        assert len(workers) == 2
        gateway.end(signal.SIGKILL)
        wait_until(lambda: not any(map(alive, workers)))
        assert gateway.refuses()


def test_a_worker_that_fails_at_the_start_ends_the_server(tmp_path: Path) -> None:
    (tmp_path / "unlucky.py").write_text(UNLUCKY)
    tables = '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo", "unlucky:Unlucky"]\n'
    with serve(tmp_path, tables=tables) as gateway:
        assert gateway.process.wait(20) == 1
        assert "no luck" in gateway.log.read_text().splitlines()[-1]
        assert "serves" not in gateway.log.read_text()
