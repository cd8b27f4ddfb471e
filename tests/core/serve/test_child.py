from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait

import httpx
import pytest

from core.serve.child import Child
from core.serve.settings import ServerOptions
from core.serve.sockets import Doors, open_doors

HELLO = ServerOptions(("127.0.0.1:0",), application="tests.core.serve.hello:app", worker_class="asyncio")


@pytest.fixture
def doors() -> Iterator[Doors]:
    made = open_doors(HELLO.bind)
    yield made
    made.close()


def look_until(child: Child, true: Callable[[], bool]) -> str | None:
    """Look whenever the worker has something to say; how it ended, once it has."""
    while not true():
        assert wait(child.waits, 20)
        if (how := child.look()) is not None:
            return how
    return None


def test_a_worker_s_life(doors: Doors) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    child = Child(HELLO, doors)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    child.reload()  # kept until it can
    child.send(signal.SIGINT)
    assert look_until(child, lambda: child.ready_since is not None) is None
    assert (child.drain, child.grace, child.told) == (0.5, 0.0, "hello")
    with httpx.Client(base_url=f"http://{doors.addresses[0]}", timeout=10) as client:
        pid, reloads = client.post("/about").text.split()
        while reloads == "0":  # the signal is on its way
            pid, reloads = client.post("/about").text.split()
    assert (int(pid), reloads) == (child.pid, "1")
    child.send(signal.SIGKILL)
    assert look_until(child, lambda: False) == "signal SIGKILL"
    child.send(signal.SIGKILL)  # to nobody


def test_a_worker_that_cannot_start_says_why(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELLO", "no import")
    child = Child(HELLO, doors)
    assert look_until(child, lambda: False) == "exit status 1"
    assert (child.ready_since, child.reason) == (None, "no such luck")
