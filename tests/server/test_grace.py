"""`[server] drain_grace`: between the wish to end and the draining all is served, and `/readyz` says that it is time."""

from __future__ import annotations

import signal
import time
from functools import partial
from pathlib import Path

import anyio
import httpx
import pytest

from core.testing import MockUpstream, UpstreamReply
from core.testing.answers import Framing
from tests.server.processes import wait_until
from tests.server.serve import DEMO, Serve, serve
from tests.server.test_serve import BODY, SAY, UPSTREAM, alive

LONG = "[server]\ndrain_grace = 60\ndrain_timeout = 0.3\n"
both = pytest.mark.parametrize("worker", ["uvloop", "asyncio"])


def leaves(gateway: Serve) -> bool:
    """Whether each worker says, over new connections, that it wants no more."""
    return {httpx.get(f"{gateway.url}/readyz", timeout=20).status_code for _ in range(6)} == {503}


@both
def test_all_is_served_in_the_grace_which_a_second_signal_ends(tmp_path: Path, worker: str) -> None:
    hold = anyio.Event()
    upstream = MockUpstream(lambda _: UpstreamReply.sse([SAY], framing=Framing(done=False), hold=hold))
    demo = '"d" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'
    tables = LONG + UPSTREAM.replace("[backends", demo + "[backends", 1)
    with (
        upstream.in_thread(),
        serve(
            tmp_path,
            *("--bind", "unix:s", "--workers", "2", "--worker-class", worker),
            tables=f'{tables}url = "{upstream.url}"\n',
        ) as gateway,
        httpx.Client(base_url=gateway.url, timeout=20) as kept,
        httpx.stream("POST", f"{gateway.url}/v1/messages", json={**BODY, "stream": True}, timeout=20) as stream,
    ):
        lines = stream.iter_lines()
        assert any("word" in line for line in lines)
        assert kept.get("/readyz").status_code == 200
        gateway.process.send_signal(signal.SIGTERM)
        wait_until(lambda: leaves(gateway))
        for client in (kept, httpx.Client(base_url=gateway.url, timeout=20)):
            answer = client.post("/v1/messages", json={**BODY, "model": "d"})
            assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "s")), timeout=20) as local:
            assert local.get("http://localhost/healthz").status_code == 200
        assert len(gateway.lines("leaving")) == 2
        assert not gateway.lines("draining")
        gateway.process.send_signal(signal.SIGTERM)
        wait_until(gateway.refuses)
        assert "event: error" in "\n".join(lines)
        assert gateway.process.wait(20) == 0
        assert len(gateway.lines("draining")) == 2
        assert "Traceback" not in gateway.log.read_text()


@both
def test_the_grace_ends_by_itself(tmp_path: Path, worker: str) -> None:
    tables = "[server]\ndrain_grace = 1.0\n" + DEMO
    with serve(tmp_path, "--workers", "2", "--worker-class", worker, tables=tables) as gateway:
        began = time.monotonic()
        gateway.process.send_signal(signal.SIGINT)
        wait_until(lambda: leaves(gateway))
        assert gateway.process.wait(20) == 0
        assert time.monotonic() - began >= 1.0
        assert gateway.refuses()


def test_a_third_signal_ends_all_at_once(tmp_path: Path) -> None:
    hold = anyio.Event()
    upstream = MockUpstream(lambda _: UpstreamReply.sse([SAY], framing=Framing(done=False), hold=hold))
    limits = "[server]\ndrain_grace = 60\ndrain_timeout = 60\n"
    with (
        upstream.in_thread(),
        serve(tmp_path, tables=f'{limits}{UPSTREAM}url = "{upstream.url}"\n') as gateway,
        httpx.stream("POST", f"{gateway.url}/v1/messages", json={**BODY, "stream": True}, timeout=20) as stream,
    ):
        lines = stream.iter_lines()  # kept: without it the client would leave
        assert any("word" in line for line in lines)
        for event in ("leaving", "draining"):
            gateway.process.send_signal(signal.SIGTERM)
            wait_until(partial(gateway.lines, event))
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(20) == 0


def test_workers_whose_master_was_killed_keep_no_address_for_the_grace(tmp_path: Path) -> None:
    with serve(tmp_path, "--workers", "2", tables=LONG + DEMO) as gateway:
        workers = gateway.workers()
        gateway.end(signal.SIGKILL)
        wait_until(lambda: not any(map(alive, workers)))
        assert gateway.refuses()
